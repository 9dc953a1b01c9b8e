//! Small names for what the machine holds. A generation makes a stale key harmless.

use core::fmt;

macro_rules! key {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name {
            index: u32,
            generation: u32,
        }

        impl $name {
            pub(crate) const fn new(index: u32, generation: u32) -> Self {
                Self { index, generation }
            }

            /// The place in a table; used again once its holder is gone.
            #[must_use]
            pub const fn index(self) -> usize {
                self.index as usize
            }

            /// How many keys were given out before this one.
            #[must_use]
            pub const fn generation(self) -> u32 {
                self.generation
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}v{}", self.index, self.generation)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!(stringify!($name), "({})"), self)
            }
        }
    };
}

key! {
    /// A session's internal name: small, copyable, and never good for a later session in the same place.
    SessionKey
}

key! {
    /// An executor's internal name, with the same guarantee.
    ExecutorKey
}
