use crate::story::{Story, good};
use session_testkit::{Kind::*, Record};

#[test]
fn a_recording_prints_as_swim_lanes() {
    let mut story = Story::default();
    story.tell(0, "0f1e2d3c-0000", &[Opening]);
    story.tell(1, "0f1e2d3c-0000", &[Constructing, Constructed]);
    story.say(2, "a", ToolBegin, &[("tool", "slow"), ("tag", "")]);
    story.tell(1, "0f1e2d3c-0000", &[CloseBegin, CloseRaised]);
    story.say(0, "0f1e2d3c-0000", Closing, &[("reason", "idle")]);
    let printed = story.record().timeline().marking([4, 5]).to_string();
    let expected = r"
    #         ms | shared-1#1             | shared-2#2        | driver
-------------------------------------------------------------------------------------
    0      0.000 |                        |                   | 0f1e2d3c opening
    1      1.500 | 0f1e2d3c constructing  |                   |
    2      3.000 | 0f1e2d3c constructed   |                   |
    3      4.500 |                        | a tool_begin slow |
>   4      6.000 | 0f1e2d3c close_begin   |                   |
>   5      7.500 | 0f1e2d3c closed raised |                   |
    6      9.000 |                        |                   | 0f1e2d3c closing idle
      0f1e2d3c = 0f1e2d3c-0000
";
    assert_eq!(printed.trim_end(), expected.trim_matches('\n'), "\n{printed}");
}

#[test]
fn ids_that_begin_alike_are_printed_in_full() {
    let mut story = Story::default();
    story.tell(1, "session-0001", &[Constructing]);
    story.tell(1, "session-0002", &[Constructing]);
    let printed = story.record().to_string();
    assert!(printed.contains("session-0001 constructing") && !printed.contains(" = "), "{printed}");
}

#[test]
fn nothing_recorded_says_so() {
    assert_eq!(Record::default().to_string(), "(nothing was recorded)\n");
}

#[test]
fn every_event_has_a_line_of_its_own() {
    let record = good().record();
    assert_eq!(record.to_string().lines().count(), record.events().len() + 2);
}
