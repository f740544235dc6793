// Reads a provisioning file and tells everything that is wrong with it at once, each with its line and field.
import { crossCheck } from './cross-checks.js';
import { parseYaml } from './parse-yaml.js';
import { type ProvisioningFile, provisioningSchema } from './provisioning-schema.js';

/** Fields of the file that no message may show. */
export const SECRET_FIELDS: readonly string[] = ['key', 'clientSecret', 'mqttPassword'];

/**
 * The file's content, valid and with defaults filled in.
 * @param text YAML 1.2.
 * @param fileName how errors name the file.
 * @throws UnusableFileError with every problem, in the order of the file.
 */
export function parseProvisioning(text: string, fileName: string): ProvisioningFile {
  return parseYaml(text, fileName, { schema: provisioningSchema, crossCheck, secrets: SECRET_FIELDS }).data;
}
