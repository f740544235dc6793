// What the address of an MQTT broker or of NATS may look like, and what it says of the way there.

/** Whether `text` is an address that an MQTT client can connect to. */
export function isBrokerUrl(text: string): boolean {
  return URL.canParse(text) && /^(mqtts?|wss?|tcp|tls):$/.test(new URL(text).protocol);
}

/** Whether `text` names one server of NATS, or several with commas between them. */
export function isBusUrl(text: string): boolean {
  return busServersOf(text).every((server) => {
    return (
      URL.canParse(server) &&
      /^(nats|tls):$/.test(new URL(server).protocol) &&
      new URL(server).hostname !== ''
    );
  });
}

/** The addresses in a setting that names one server of NATS or several. */
export function busServersOf(text: string): readonly string[] {
  return text.split(',').map((server) => server.trim());
}

/** Whether a client speaks TLS to the broker at `url`. */
export function isTlsUrl(url: string): boolean {
  return /^(mqtts|wss|tls):$/.test(URL.canParse(url) ? new URL(url).protocol : '');
}

/** The address without what signs in there. */
export function withoutSecrets(url: string): string {
  const parsed = new URL(url);
  parsed.username = '';
  parsed.password = '';
  return parsed.href;
}
