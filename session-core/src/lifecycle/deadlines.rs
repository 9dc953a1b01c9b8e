//! One deadline per session in a binary heap that knows where each one is: O(log n) to set, move or clear.

use alloc::vec::Vec;

use crate::Timestamp;

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Deadlines {
    heap: Vec<Entry>,
    /// Where in the heap the deadline of a place in the session table is.
    places: Vec<u32>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Entry {
    at: Timestamp,
    index: u32,
}

const NOWHERE: u32 = u32::MAX;

impl Deadlines {
    pub(super) fn earliest(&self) -> Option<Timestamp> {
        self.heap.first().map(|entry| entry.at)
    }

    /// Takes out a deadline that has passed by `now`, the earliest first.
    pub(super) fn pop_due(&mut self, now: Timestamp) -> Option<usize> {
        let first = *self.heap.first()?;
        (first.at <= now).then(|| {
            self.clear(first.index as usize);
            first.index as usize
        })
    }

    pub(super) fn get(&self, index: usize) -> Option<Timestamp> {
        self.place(index).map(|place| self.heap[place].at)
    }

    pub(super) fn set(&mut self, index: usize, at: Timestamp) {
        if index >= self.places.len() {
            self.places.resize(index + 1, NOWHERE);
        }
        let entry = Entry { at, index: index as u32 };
        let place = self.place(index).unwrap_or_else(|| {
            self.heap.push(entry);
            self.heap.len() - 1
        });
        self.heap[place] = entry;
        self.settle(place);
    }

    pub(super) fn clear(&mut self, index: usize) {
        let Some(place) = self.place(index) else { return };
        self.places[index] = NOWHERE;
        self.heap.swap_remove(place);
        if place < self.heap.len() {
            self.settle(place);
        }
    }

    fn place(&self, index: usize) -> Option<usize> {
        self.places.get(index).copied().filter(|place| *place != NOWHERE).map(|place| place as usize)
    }

    /// Moves the entry at `place` up or down to where it belongs.
    fn settle(&mut self, mut place: usize) {
        while place > 0 && self.heap[place].at < self.heap[(place - 1) / 2].at {
            self.swap(place, (place - 1) / 2);
            place = (place - 1) / 2;
        }
        while let Some(child) = self.earlier_child(place) {
            if self.heap[place].at <= self.heap[child].at {
                break;
            }
            self.swap(place, child);
            place = child;
        }
        self.note(place);
    }

    fn earlier_child(&self, place: usize) -> Option<usize> {
        let (left, right) = (2 * place + 1, 2 * place + 2);
        let left_at = self.heap.get(left)?.at;
        match self.heap.get(right) {
            Some(entry) if entry.at < left_at => Some(right),
            _ => Some(left),
        }
    }

    fn swap(&mut self, one: usize, other: usize) {
        self.heap.swap(one, other);
        self.note(one);
        self.note(other);
    }

    fn note(&mut self, place: usize) {
        self.places[self.heap[place].index as usize] = place as u32;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::collections::BTreeMap;
    use proptest::prelude::*;

    #[derive(Clone, Debug)]
    enum Op {
        Set(usize, u64),
        Clear(usize),
        Pop(u64),
    }

    fn ops() -> impl Strategy<Value = Vec<Op>> {
        let op = prop_oneof![
            3 => (0..24usize, 0..50u64).prop_map(|(index, at)| Op::Set(index, at)),
            1 => (0..24usize).prop_map(Op::Clear),
            1 => (0..50u64).prop_map(Op::Pop),
        ];
        prop::collection::vec(op, 0..200)
    }

    proptest! {
        #[test]
        fn it_agrees_with_a_sorted_map(ops in ops()) {
            let mut real = Deadlines::default();
            let mut model = BTreeMap::new();
            for op in ops {
                match op {
                    Op::Set(index, at) => {
                        real.set(index, Timestamp::from_nanos(at));
                        model.insert(index, at);
                    }
                    Op::Clear(index) => {
                        real.clear(index);
                        model.remove(&index);
                    }
                    Op::Pop(now) => match real.pop_due(Timestamp::from_nanos(now)) {
                        Some(index) => {
                            let at = model.remove(&index).unwrap();
                            prop_assert!(at <= now);
                            prop_assert!(model.values().all(|other| *other >= at));
                        }
                        None => prop_assert!(model.values().all(|at| *at > now)),
                    },
                }
                let earliest = model.values().min().map(|at| Timestamp::from_nanos(*at));
                prop_assert_eq!(real.earliest(), earliest);
                for index in 0..24 {
                    prop_assert_eq!(real.get(index), model.get(&index).map(|at| Timestamp::from_nanos(*at)));
                }
            }
        }
    }
}
