// What the address of an MQTT broker may look like, and what it says of the way there.

/** Whether `text` is an address that an MQTT client can connect to. */
export function isBrokerUrl(text: string): boolean {
  return URL.canParse(text) && /^(mqtts?|wss?|tcp|tls):$/.test(new URL(text).protocol);
}

/** Whether a client speaks TLS to the broker at `url`. */
export function isTlsUrl(url: string): boolean {
  return /^(mqtts|wss|tls):$/.test(URL.canParse(url) ? new URL(url).protocol : '');
}
