-- The order in which a conversation was spoken to is that of its lane. So an entry stays in the one
-- index by lane when it ends, and delivering it changes no other place in it.
--
-- place: 0 in the lane; -1 in the lane again, after it was aside; 1 aside, for a human; 2 it has ended
-- in its turn; 4 it has ended out of its turn; 3 only the key is kept.
DROP INDEX outbox_by_lane;
DROP INDEX outbox_dead;
DROP INDEX outbox_ended;
DROP INDEX outbox_said;
DROP INDEX outbox_keys;
DROP INDEX outbox_native;

-- The numbers of lanes began anew when nothing was in them. What has ended comes before all that has
-- not.
UPDATE outbox SET lane_seq = NULL WHERE place >= 2 AND lane_seq IS NOT NULL;
UPDATE outbox SET lane_seq = -said.back FROM (
    SELECT connector_id, envelope_id, part, row_number() OVER (
        PARTITION BY connector_id, conversation
        ORDER BY changed_at DESC, envelope_id DESC, part DESC) AS back
    FROM outbox WHERE place = 2 AND state = 'delivered') AS said
WHERE outbox.connector_id = said.connector_id AND outbox.envelope_id = said.envelope_id
    AND outbox.part = said.part;

-- Nothing is in a lane before its first but what has come back, and waits for that one to end.
UPDATE outbox SET place = -1 WHERE place = 0 AND EXISTS (
    SELECT 1 FROM outbox_lanes WHERE outbox_lanes.connector_id = outbox.connector_id
        AND outbox_lanes.conversation = outbox.conversation
        AND outbox_lanes.head_seq > outbox.lane_seq);

CREATE UNIQUE INDEX outbox_by_lane ON outbox (connector_id, conversation, lane_seq)
    WHERE lane_seq IS NOT NULL;
CREATE INDEX outbox_back ON outbox (connector_id, conversation) WHERE place = -1;
CREATE INDEX outbox_ended ON outbox (place, changed_at) WHERE place >= 2;
CREATE INDEX outbox_late ON outbox (connector_id, conversation, changed_at) WHERE place = 4;
-- Names that a platform gives one after the other are neighbours here, whatever they are said in.
CREATE UNIQUE INDEX outbox_native ON outbox (connector_id, native_message_id, conversation)
    WHERE native_message_id IS NOT NULL;
