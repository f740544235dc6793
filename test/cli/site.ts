// A small tenant for the tests of the command line.
export const TENANT = 'harbour';
export const API_KEY = 'hr_clitest1_0123456789abcdefghij';

/** `secrets: false` leaves out every key, secret and password. */
export function siteYaml(
  options: { secrets: boolean; permanentLimitKw?: number } = { secrets: true },
): string {
  const preset = (text: string) => (options.secrets ? `, ${text}` : '');
  return `tenants:
  - tenantUuid: ${TENANT}
    name: Harbour Charging
    features: [energy-management]
    apiKeys:
      - { scopes: [locations:read, locations:write, clusters:read, clusters:write]${preset(`key: ${API_KEY}`)} }
    clients:
      - { clientId: harbour-backend${preset('clientSecret: backend-secret')} }
    locations:
      - locationId: quay-1
        name: Quay 1
        permanentLimitKw: ${options.permanentLimitKw ?? 50}
        chargers:
          - controllerUuid: q1-a
            connectors: [{ connectorId: "1", phases: 3, maxCurrentA: 32 }]
            ${options.secrets ? 'mqttPassword: charger-secret-q1' : ''}
    gateways:
      - { gatewayId: quay-gateway, controllers: [q1-a]${preset('mqttPassword: gateway-secret')} }
`;
}
