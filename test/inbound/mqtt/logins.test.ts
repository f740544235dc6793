// Who may connect over MQTT: names, passwords, and what a login speaks for.
import { describe, expect, it } from 'vitest';
import { createMqttLogins } from '../../../src/inbound/mqtt/logins.js';
import { CREDENTIALS, credentialsOf, HARBOUR, loginOf, STRANGER } from '../../outbound/mqtt/broker-rig.js';

const NAME = `${HARBOUR}/q1-a`;
const PASSWORD = Buffer.from('password of q1-a');

describe('MQTT logins', () => {
  it('are tenant and charger with one password, for the topics of that charger', () => {
    const login = createMqttLogins(CREDENTIALS).authenticate(NAME, PASSWORD);
    expect(login).toEqual({
      tenantUuid: HARBOUR,
      clientId: 'q1-a',
      username: NAME,
      prefixes: [`ems/v1/${HARBOUR}/quay-1/q1-a`],
    });
  });

  it('of a gateway speak for all of its chargers', () => {
    const login = createMqttLogins(CREDENTIALS).authenticate(
      `${HARBOUR}/gateway-1`,
      Buffer.from('password of gateway-1'),
    );
    expect(login?.prefixes).toEqual(['g-1', 'g-2', 'g-3'].map((id) => `ems/v1/${HARBOUR}/quay-1/${id}`));
  });

  it.each([
    ['a wrong password', NAME, 'password of q1-b'],
    ['an empty password', NAME, ''],
    ['the stored hash as password', NAME, loginOf(HARBOUR, 'q1-a').secretHash],
    ['a name without tenant', 'q1-a', 'password of q1-a'],
    ['an unknown name', `${STRANGER}/q1-b`, 'password of q1-b'],
    ['the name of an object property', 'constructor', ''],
  ])('are refused with %s', (_, username, password) => {
    expect(createMqttLogins(CREDENTIALS).authenticate(username, Buffer.from(password))).toBeUndefined();
  });

  it('stay current when read again unchanged, in whatever order', () => {
    const logins = createMqttLogins(credentialsOf(loginOf(HARBOUR, 'gateway-1', ['g-1', 'g-2'])));
    const login = logins.authenticate(`${HARBOUR}/gateway-1`, Buffer.from('password of gateway-1'));
    logins.replace(credentialsOf(loginOf(HARBOUR, 'gateway-1', ['g-2', 'g-1'])));
    expect(login && logins.isCurrent(login)).toBe(true);
  });

  it.each([
    ['they vanish', credentialsOf()],
    ['their password changes', credentialsOf({ ...loginOf(HARBOUR, 'q1-a'), secretHash: 'ff'.repeat(32) })],
    ['they speak for other chargers', credentialsOf(loginOf(HARBOUR, 'q1-a', ['q1-a', 'q1-b']))],
  ])('are no longer current when %s', (_, changed) => {
    const logins = createMqttLogins(CREDENTIALS);
    const login = logins.authenticate(NAME, PASSWORD);
    let calls = 0;
    logins.onReplaced(() => {
      calls++;
      expect(login && logins.isCurrent(login)).toBe(false);
    });
    logins.replace(changed);
    expect(calls).toBe(1);
  });
});
