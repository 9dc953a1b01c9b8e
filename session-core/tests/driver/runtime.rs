//! A runtime that ends before its sessions: nothing hangs, nothing deadlocks, no thread is left.

use std::sync::mpsc;

use tokio::runtime::{Builder, Runtime};

use crate::support::*;

/// More than any stack has room for, if the end of one began the end of the next.
const MANY: usize = 3000;

fn runtimes() -> [Runtime; 2] {
    let multi = Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let current = Builder::new_current_thread().enable_all().build();
    [multi.unwrap(), current.unwrap()]
}

fn in_another<T>(work: impl Future<Output = T>) -> T {
    Builder::new_current_thread().enable_all().build().unwrap().block_on(work)
}

/// On a thread with a small stack, so that depth shows.
fn on_a_small_stack(work: impl FnOnce() + Send + 'static) {
    std::thread::Builder::new().stack_size(256 * 1024).spawn(work).unwrap().join().unwrap();
}

#[test]
fn sessions_on_threads_are_taken_apart_after_their_runtime_is_gone() {
    for kind in Kind::THREADS {
        for runtime in runtimes() {
            let world = World::new();
            let sessions = runtime.block_on(async {
                let sessions = kind.sessions(&world, config().build().unwrap());
                for name in ["a", "b", "c"] {
                    sessions.open(id(name)).await.unwrap();
                }
                sessions
            });
            drop(runtime);
            let mut events = sessions.subscribe();
            let control = sessions.control();
            drop(sessions);
            drop(control); // the last one: the shutdown begins
            in_another(async { while events.recv().await.is_some() {} });
            world.record.assert_taken_apart();
            assert_eq!(world.record.count(Did::Close), 3, "{kind:?}");
            for name in ["a", "b", "c"] {
                assert!(thread_is_gone(&world.record.assert_one_thread(name).tid), "{kind:?}");
            }
        }
    }
}

/// It can't be closed, since there is nothing left to close it on; that is said, and nothing stays behind.
#[test]
fn sessions_as_tasks_are_dropped_and_reported_when_their_runtime_is_gone() {
    for runtime in runtimes() {
        on_a_small_stack(move || {
            let world = World::new();
            let sessions = runtime.block_on(async {
                let config = config().capacity(MANY).build().unwrap();
                let sessions = Kind::Tasks.sessions(&world, config);
                for number in 0..MANY {
                    sessions.open(id(&number.to_string())).await.unwrap();
                }
                sessions
            });
            drop(runtime);
            let report = in_another(sessions.shutdown(Shutdown::Graceful));
            assert_books_are_empty(&sessions);
            assert_eq!(report.closed[&CloseReason::Shutdown], MANY as u64);
            assert!(report.sessions.iter().all(|it| it.faults().count() == 3), "leave, close, close again");
            assert_eq!(world.record.count(Did::Drop), MANY);
        });
    }
}

/// The steps that are under way are dropped with the runtime, on whichever thread that is.
#[test]
fn a_runtime_that_goes_in_the_middle_of_a_shutdown_ends_it() {
    for runtime in runtimes() {
        on_a_small_stack(move || {
            let world = World::new();
            let sessions = runtime.block_on(async {
                let config = config().capacity(MANY).build().unwrap();
                let sessions = Kind::Tasks.sessions(&world, config);
                for number in 0..MANY {
                    let name = number.to_string();
                    world.plan(&name, Stage::Leave, [Act::Hang]);
                    sessions.open(id(&name)).await.unwrap();
                }
                sessions.begin_shutdown(Shutdown::Graceful);
                world.record.until("0", Did::Leave).await;
                sessions
            });
            drop(runtime);
            in_another(sessions.stopped());
            assert_books_are_empty(&sessions);
            assert_eq!(world.record.count(Did::Drop), MANY);
        });
    }
}

#[test]
fn what_waits_for_a_timer_of_the_runtime_does_not_hang_when_it_goes() {
    for kind in Kind::THREADS {
        for runtime in runtimes() {
            let world = World::new();
            let sessions = runtime.block_on(async {
                let sessions = kind.sessions(&world, config().build().unwrap());
                world.plan("a", Stage::Leave, [Act::Sleep(secs(3600))]);
                let session = sessions.open(id("a")).await.unwrap();
                session.begin_close(CloseReason::Requested).unwrap();
                world.record.until("a", Did::Leave).await;
                sessions
            });
            drop(runtime);
            in_another(sessions.shutdown(Shutdown::Graceful));
            assert_books_are_empty(&sessions);
            world.record.assert_taken_apart();
        }
    }
}

#[test]
fn an_asker_elsewhere_is_answered_when_the_runtime_is_gone() {
    for kind in Kind::ALL {
        for runtime in runtimes() {
            let world = World::new();
            let sessions = {
                let _inside = runtime.enter();
                kind.sessions(&world, config().build().unwrap())
            };
            drop(runtime);
            let opened = in_another(sessions.open(id("a")));
            assert_eq!(opened.is_ok(), kind != Kind::Tasks, "{opened:?}"); // threads need no runtime to run
            in_another(sessions.shutdown(Shutdown::Graceful));
            assert_books_are_empty(&sessions);
            world.record.assert_taken_apart();
        }
    }
}

/// What an environment does when it is dropped is its own business: it may look at the sessions, even at the very end.
#[test]
fn an_environment_that_asks_for_the_status_when_it_is_dropped_does_not_deadlock() {
    struct Curious(Control, mpsc::Sender<Lifespan>);
    impl Drop for Curious {
        fn drop(&mut self) {
            let _ = self.1.send(self.0.status().lifespan);
            let _ = self.0.list();
        }
    }
    impl TaskEnvironment for Curious {
        type Call = ();
        type Reply = ();
        async fn call(&self, (): ()) {}
    }
    type Asked = session_core::Sessions<(), ()>;
    let (told, hear) = mpsc::channel();
    let control = std::sync::Arc::new(std::sync::OnceLock::<Control>::new());
    for (threads, runtime) in [None, Some(Threads::Shared)].into_iter().cycle().zip(runtimes()) {
        let (theirs, told) = (std::sync::Arc::clone(&control), told.clone());
        let factory = move |_: &SessionId| {
            let control = theirs.get().expect("it is set before anything is opened").clone();
            Ok(Curious(control, told.clone()))
        };
        let sessions: Asked = runtime.block_on(async {
            let config = config().build().unwrap();
            let sessions = match threads {
                Some(threads) => Asked::on_threads(config, threads, factory),
                None => Asked::as_tasks(config, factory),
            };
            control.get_or_init(|| sessions.control());
            sessions.open(id("a")).await.unwrap();
            sessions
        });
        drop(runtime);
        in_another(sessions.shutdown(Shutdown::Graceful));
        hear.recv().unwrap();
    }
}

/// The joiners go home with the sessions.
#[test]
fn no_thread_of_the_driver_outlives_it() {
    for kind in Kind::THREADS {
        let world = World::new();
        let [runtime, _] = runtimes();
        runtime.block_on(async {
            let sessions = kind.sessions(&world, config().build().unwrap());
            for name in ["a", "b", "c"] {
                sessions.open(id(name)).await.unwrap();
            }
        });
        drop(runtime);
        for entry in world.record.all() {
            assert!(thread_is_gone(&entry.tid), "{entry:?}");
        }
    }
}

/// A thread can't be killed, but nobody has to wait for it.
#[test]
fn b42_a_thread_that_hangs_for_ever_does_not_hold_the_runtime_up() {
    for kind in Kind::THREADS {
        for runtime in runtimes() {
            let world = World::new();
            let gate = Gate::new();
            runtime.block_on(async {
                let sessions = kind.sessions(&world, config().build().unwrap());
                let session = sessions.open(id("a")).await.unwrap();
                drop(tokio::spawn(session.begin_call().unwrap().run(ask(1, Act::Block(gate.clone())))));
                world.record.until("a", Did::Call(1)).await;
            });
            drop(runtime); // returns
            gate.open(); // and if it comes back, it is taken apart
            in_another(world.record.until("a", Did::Drop));
            world.record.assert_taken_apart();
        }
    }
}

/// Without a timer no deadline would ever pass: that is a mistake of whoever made the runtime, and is said at once.
#[test]
#[should_panic(expected = "timers are disabled")]
fn a_runtime_without_time_is_refused() {
    let runtime = Builder::new_current_thread().build().unwrap();
    let _inside = runtime.enter();
    drop(Kind::Tasks.sessions(&World::new(), config().build().unwrap()));
}
