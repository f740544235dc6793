// The embedded broker with the clients of mosquitto, which share no code with it.
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { missingPrograms, needing } from '../../needs.js';
import { type BrokerRig, HARBOUR, startBroker, topicOf } from './broker-rig.js';

const run = promisify(execFile);
// Without stdbuf (coreutils) mosquitto_sub reports its subscription only at its end.
const PROGRAMS = ['mosquitto_pub', 'mosquitto_sub', 'stdbuf'];

describe('mosquitto clients', needing(missingPrograms(...PROGRAMS)), () => {
  let rig: BrokerRig;

  beforeEach(async () => {
    rig = await startBroker();
  });

  afterEach(async () => {
    await rig.stop();
  });

  function optionsOf(name = 'q1-a', password = `password of ${name}`): string[] {
    const { hostname, port } = new URL(rig.url);
    return ['-h', hostname, '-p', port, '-i', name, '-u', `${HARBOUR}/${name}`, '-P', password, '-k', '30'];
  }

  it.each(['0', '1'])('publish meter values at QoS %s', async (qos) => {
    await run('mosquitto_pub', [
      ...optionsOf(),
      '-q',
      qos,
      '-t',
      topicOf('c/1/meter'),
      '-m',
      '{"powerW":7360}',
    ]);
    await rig.heard('{"powerW":7360}');
  });

  it('retain their own state and leave a last will there', async () => {
    const state = topicOf('state');
    await run('mosquitto_pub', [...optionsOf(), '-q', '1', '-r', '-t', state, '-m', '{"online":true}']);
    await rig.heard('{"online":true}');
    const will = [
      '--will-topic',
      state,
      '--will-payload',
      '{"online":false}',
      '--will-retain',
      '--will-qos',
      '1',
    ];
    const subscriber = spawn('stdbuf', [
      '-oL',
      'mosquitto_sub',
      ...optionsOf(),
      ...will,
      '-d',
      '-t',
      topicOf('sync'),
    ]);
    let output = '';
    while (!output.includes('received SUBACK')) output += String((await once(subscriber.stdout, 'data'))[0]);
    subscriber.kill('SIGKILL');
    await rig.heard('{"online":false}');
  });

  it('receive their own limit', async () => {
    const subscriber = spawn('stdbuf', [
      '-oL',
      'mosquitto_sub',
      ...optionsOf(),
      '-d',
      '-C',
      '1',
      '-q',
      '1',
      '-t',
      topicOf('c/1/limit'),
    ]);
    let output = '';
    for await (const chunk of subscriber.stdout) {
      output += String(chunk);
      if (output.includes('received SUBACK') && !output.includes('six')) {
        rig.bus.publish(topicOf('c/1/limit'), 'six', { qos: 1, retain: false });
      }
    }
    expect(output).toContain('six');
  });

  it('are refused a wrong password, QoS 2 and wildcards', async () => {
    const meter = ['-t', topicOf('c/1/meter'), '-m', 'x'];
    await expect(run('mosquitto_pub', [...optionsOf('q1-a', 'wrong'), ...meter])).rejects.toThrow();
    await expect(run('mosquitto_pub', [...optionsOf(), '-q', '2', ...meter])).rejects.toThrow();
    const { stderr } = await run('mosquitto_sub', [...optionsOf(), '-E', '-t', '#']);
    expect(stderr).toContain('denied');
    await rig.refused('credentials');
    await rig.refused('qos');
    await rig.refused('topic');
    expect(rig.received).toEqual([]);
  });
});
