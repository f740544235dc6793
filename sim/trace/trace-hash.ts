// Fingerprint of a run: two runs with the same hash had the same events in the same order.
import { createHash } from 'node:crypto';
import { TraceEncoder } from './trace-encoder.js';
import type { TraceEvent } from './trace-event.js';

const BATCH_BYTES = 1 << 16;

export interface TraceHash {
  /** @throws RangeError for an event that a trace cannot hold, see TraceEncoder. */
  add(event: TraceEvent): void;
  /** SHA-256 of the events so far, in hex. More events may follow. */
  digest(): string;
}

export function createTraceHash(): TraceHash {
  const encoder = new TraceEncoder();
  const hash = createHash('sha256');
  return {
    add(event) {
      encoder.add(event);
      if (encoder.sizeBytes >= BATCH_BYTES) hash.update(encoder.take());
    },
    digest() {
      hash.update(encoder.take());
      return hash.copy().digest('hex');
    },
  };
}
