// Names in a charger's certificate: its common name, and its alternative names of kind DNS and URI.
import type { PeerCertificate } from 'node:tls';

// Node puts values with special characters in quotes, as JSON does, so that none can look like two.
const ALTERNATIVE_NAME = /(?:^|, )(DNS|URI):("(?:[^"\\]|\\.)*"|[^,"]*)(?=, |$)/g;

export function namesOf(
  certificate: Pick<PeerCertificate, 'subject' | 'subjectaltname'>,
): ReadonlySet<string> {
  // A subject may have several names, or none, which the declarations leave out.
  const commonNames: string | readonly string[] | undefined = certificate.subject?.CN;
  const alternatives = (certificate.subjectaltname ?? '').matchAll(ALTERNATIVE_NAME);
  return new Set([
    ...[commonNames ?? []].flat(),
    ...[...alternatives].map(([, , value = '']) =>
      value.startsWith('"') ? String(JSON.parse(value)) : value,
    ),
  ]);
}
