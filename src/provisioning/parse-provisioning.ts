// Reads a provisioning file and reports all its errors at once, each with its line and field.
import { crossCheck } from './cross-checks.js';
import { parseYaml } from './parse-yaml.js';
import { type ProvisioningFile, provisioningSchema } from './provisioning-schema.js';

/** No message may show the values of these fields. */
export const SECRET_FIELDS: readonly string[] = ['key', 'clientSecret', 'mqttPassword'];

/**
 * The file's content, valid and with defaults filled in.
 * @param text YAML 1.2.
 * @param fileName the name of the file in errors.
 * @throws UnusableFileError with every problem, in the order of the file.
 */
export function parseProvisioning(text: string, fileName: string): ProvisioningFile {
  return parseYaml(text, fileName, { schema: provisioningSchema, crossCheck, secrets: SECRET_FIELDS }).data;
}
