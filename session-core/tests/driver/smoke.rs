use std::num::NonZeroUsize;
use std::rc::Rc;
use std::time::Duration;

use session_core::*;

struct Echo(Rc<()>);
impl Environment for Echo {
    type Call = u32;
    type Reply = u32;
    const OVERLAP: Overlap = Overlap::Concurrent;
    async fn call(&self, call: u32) -> u32 {
        let _keep = Rc::clone(&self.0);
        if call > 1000 {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        call + 1
    }
}

fn id(n: u8) -> SessionId {
    SessionId::from_random([n; 16])
}

#[tokio::test(flavor = "multi_thread")]
async fn all_kinds_of_threads() {
    for threads in [Threads::PerSession, Threads::Shared, Threads::Pinned(NonZeroUsize::new(3).unwrap())] {
        let sessions =
            Sessions::on_threads(Config::default(), threads, |_: &SessionId| Ok(Echo(Rc::new(()))));
        for n in 0..8 {
            sessions.open(id(n)).await.unwrap();
        }
        for n in 0..8 {
            let call = sessions.begin_call(id(n).as_str()).unwrap();
            assert_eq!(call.run(2000).await, Ok(2001));
        }
        assert!(sessions.find(id(3).as_str()).unwrap().close().await.unwrap().clean);
        let one = sessions.open_one_shot(id(100)).await.unwrap();
        assert_eq!(one.call(5).await, Ok(6));
        drop(one);
        let report = sessions.shutdown(Shutdown::Graceful).await;
        assert!(report.is_clean(), "{report:#?}");
        assert_eq!(report.closed.values().sum::<u64>(), 9);
        let books = sessions.status().books;
        assert_eq!((books.open, books.executors), (0, 0));
    }
}
