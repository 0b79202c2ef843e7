// Messages to a server that may be slower than the hand: one is under way, the newest waits.
//
//   const stream = new Stream((message) => setTriggerValue('move', message));
//   stream.put({ value: 3 });      // sent as { seq: 1, value: 3 }
//   stream.put({ value: 4 });      // waits
//   stream.put({ value: 5 });      // takes its place
//   stream.acknowledge(1);         // from the data that answer it: { seq: 2, value: 5 } is sent
//
// The server says in its data which message it saw last. A message that nobody answers (a run was
// stopped) holds up the next one for a few seconds only.

const LONGEST_WAIT = 4000; // milliseconds

class Stream {
  // merge(waiting, next) says what becomes of a message that waits; by default the newest wins.
  constructor(send, merge = (waiting, next) => next) {
    this.send = send;
    this.merge = merge;
    this.seq = 0; // of the last message that was sent
    this.seen = 0; // of the last one that was answered
    this.waiting = null;
  }

  get busy() {
    return this.seq > this.seen;
  }

  put(message) {
    this.waiting = this.waiting ? this.merge(this.waiting, message) : message;
    this.next();
  }

  next() {
    const late = performance.now() - this.sentAt > LONGEST_WAIT;
    if (!this.waiting || (this.busy && !late)) return;
    const message = { seq: ++this.seq, ...this.waiting };
    this.waiting = null;
    this.sentAt = performance.now();
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.next(), LONGEST_WAIT + 50);
    this.send(message);
  }

  // Of a figure that is mounted again in a session whose server has seen messages before.
  acknowledge(seq) {
    this.seen = Math.max(this.seen, seq);
    this.seq = Math.max(this.seq, seq);
    this.next();
  }

  stop() {
    clearTimeout(this.timer);
    this.waiting = null;
  }
}
