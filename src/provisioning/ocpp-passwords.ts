// Finds passwords that OCPP chargers cannot hold, for the doctor and the gateway.

// OCPP 1.6 (AuthorizationKey) and OCPP 2.0.1 (BasicAuthPassword) allow 16 to 40 characters.
const OCPP_PASSWORD = /^.{16,40}$/su;

/** The `chargers` whose preset password some OCPP chargers refuse. */
export function chargersUnfitForOcpp<T extends { readonly mqttPassword?: string | undefined }>(
  chargers: readonly T[],
): readonly T[] {
  return chargers.filter(
    ({ mqttPassword }) => mqttPassword !== undefined && !OCPP_PASSWORD.test(mqttPassword),
  );
}
