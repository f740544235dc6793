// What a charger says, ready for whatever carries it: a broker's client, or a hand-over in the same process.

/** A message as it goes to whatever carries it. */
export interface ChargerMessage {
  readonly kind: 'state' | 'meter' | 'ack';
  readonly topic: string;
  readonly payload: string;
  readonly qos: 0 | 1;
  readonly retain: boolean;
}
