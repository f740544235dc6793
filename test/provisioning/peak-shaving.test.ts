// Peak shaving in a provisioning file: windows of a quarter of an hour by default, and messages about refused values.
import { describe, expect, it } from 'vitest';
import { parseProvisioning } from '../../src/provisioning/parse-provisioning.js';
import { problemsOf } from './problems.js';

const siteWith = (peakShaving: string) => `tenants:
  - tenantUuid: harbour
    name: Harbour
    locations:
      - { locationId: quay-1, name: Quay 1, permanentLimitKw: 50, peakShaving: ${peakShaving} }
`;

describe('Peak shaving in a provisioning file', () => {
  it('has windows of a quarter of an hour unless the file states otherwise', () => {
    const ruleOf = (text: string) =>
      parseProvisioning(siteWith(text), 'site.yaml').tenants[0]?.locations[0]?.limitRules.peakShaving;
    expect(ruleOf('{ limitKw: 40 }')).toEqual({ limitKw: 40, windowMs: 900_000 });
    expect(ruleOf('{ limitKw: 40, windowS: 1800 }')).toEqual({ limitKw: 40, windowMs: 1_800_000 });
  });

  it.each([
    ['no limit', '{ windowS: 900 }', 'peakShaving.limitKw'],
    ['a limit below zero', '{ limitKw: -1 }', 'peakShaving.limitKw'],
    ['a window that does not divide an hour', '{ limitKw: 40, windowS: 1000 }', 'divides an hour'],
    ['a window of seconds', '{ limitKw: 40, windowS: 30 }', 'peakShaving.windowS'],
    ['a window of a day', '{ limitKw: 40, windowS: 86400 }', 'peakShaving.windowS'],
    ['a misspelt field', '{ limitKw: 40, window: 900 }', 'peakShaving'],
    ['a number alone', '40', 'peakShaving'],
  ])('is refused with %s, naming the field', (_what, text, named) => {
    expect(problemsOf(siteWith(text)).join()).toContain(named);
  });
});
