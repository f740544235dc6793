// Note in every answer about an organization (contract section 2.7).

export const ORGANIZATION_NOTE =
  'Organization limits are not enforced yet: the profile is recorded for future use and does not change any charging.';
