// Checks and reads addresses of an MQTT broker or of NATS.

/** True for an address to which an MQTT client can connect. */
export function isBrokerUrl(text: string): boolean {
  return URL.canParse(text) && /^(mqtts?|wss?|tcp|tls):$/.test(new URL(text).protocol);
}

/** True for one server of NATS, or several with commas between them. */
export function isBusUrl(text: string): boolean {
  return busServersOf(text).every((server) => {
    return (
      URL.canParse(server) &&
      /^(nats|tls):$/.test(new URL(server).protocol) &&
      new URL(server).hostname !== ''
    );
  });
}

/** The addresses in a setting with one or several servers of NATS. */
export function busServersOf(text: string): readonly string[] {
  return text.split(',').map((server) => server.trim());
}

/** True if a client uses TLS to the broker at `url`. */
export function isTlsUrl(url: string): boolean {
  return /^(mqtts|wss|tls):$/.test(URL.canParse(url) ? new URL(url).protocol : '');
}

/** The address without user and password. */
export function withoutSecrets(url: string): string {
  const parsed = new URL(url);
  parsed.username = '';
  parsed.password = '';
  return parsed.href;
}
