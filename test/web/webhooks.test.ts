// The page of webhooks and mails in the browser: created, changed, replayed and deleted; secrets are shown once, and
// users without permission see nothing.
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { createVirtualClock } from '../../sim/virtual-clock.js';
import { mailSubscriptionListSchema, webhookListSchema } from '../../src/features/webhooks/contract.js';
import { eventually } from '../eventually.js';
import { bodyOf } from '../service/answers.js';
import { startMailServer } from '../service/mail-server.js';
import { HARBOUR, RIVAL, site, tenantWith } from '../service/running-service.js';
import { isSignedWith, startWebhookReceiver, type WebhookReceiver } from '../service/webhook-receiver.js';
import { expectAccessible } from './accessibility.js';
import {
  colorSchemes,
  createDashboardRig,
  type DashboardRig,
  ON_PAGES,
  sidewaysScroll,
  signInAs,
  withFewerScopes,
} from './dashboard-rig.js';
import { IN_UTC, rowsOf } from './location-figures.js';

const hash = '/webhooks';
const [TAKING, WRONG] = ['day@harbour.example', 'nihgt@harbour.example'];
const HOSTILE = `<img src=x onerror="document.title='run'">`;

const TENANTS = [
  withFewerScopes(tenantWith(HARBOUR, [{ ...site('quay-1'), name: HOSTILE }, site('quay-2')])),
  tenantWith(RIVAL, [site('quay-9')]),
];

describe('The page of webhooks and mails', ON_PAGES, () => {
  let rig: DashboardRig;
  let receiver: WebhookReceiver;

  beforeAll(async () => {
    receiver = await startWebhookReceiver();
    const environment = { HEADROOM_WEBHOOK_PRIVATE: 'true' };
    rig = await createDashboardRig({ tenants: TENANTS, traffic: 'none', environment });
  });
  afterEach(async () => {
    await rig.closePages();
    const { webhooks } = bodyOf(await rig.service.call('GET', '/webhooks'), webhookListSchema);
    for (const { webhookId } of webhooks) await rig.service.call('DELETE', `/webhooks/${webhookId}`);
  });
  afterAll(async () => {
    await rig.stop();
    await receiver.stop();
  });

  const addCluster = (name: string) =>
    rig.service.call('POST', '/clusters', { name, locationIds: ['quay-1'] });

  it('creates a webhook, shows its secret once, replaces it, and deletes the webhook', async () => {
    const page = await rig.open({ ...IN_UTC, hash, expected: /status of 400/ });
    await page.getByRole('button', { name: 'Create a webhook' }).click();
    const dialog = page.getByRole('dialog');
    const url = dialog.getByRole('textbox', { name: 'URL' });
    await url.fill('ftp://nowhere');
    await dialog.getByRole('button', { name: 'Create the webhook' }).click();
    await dialog.getByText('must be https://').waitFor();
    expect(await url.getAttribute('aria-invalid')).toBe('true');
    await url.fill(receiver.url);
    await dialog.getByRole('checkbox', { name: 'cluster.changed' }).check();
    await dialog.getByRole('button', { name: 'Create the webhook' }).click();
    const first = await dialog.getByRole('textbox', { name: 'Secret' }).inputValue();
    await expectAccessible(page);
    await dialog.getByRole('button', { name: 'I have stored the secret' }).click();
    const places =
      'document.documentElement.outerHTML + JSON.stringify([{...localStorage}, {...sessionStorage}])';
    expect(String(await page.evaluate(places))).not.toContain(first);
    await addCluster('a');
    await eventually(() => expect(receiver.accepted().map(({ type }) => type)).toEqual(['cluster.changed']));

    await page.getByRole('button', { name: 'Details of the webhook' }).click();
    await dialog.getByText('None: no event was given up.').waitFor();
    await dialog.getByRole('button', { name: 'Replace the secret' }).click();
    await dialog.getByLabel('The present secret signs too for').selectOption('0');
    await dialog.getByRole('button', { name: 'Replace the secret' }).click();
    const second = await dialog.getByRole('textbox', { name: 'Secret' }).inputValue();
    expect(second).not.toBe(first);
    await dialog.getByRole('button', { name: 'I have stored the secret' }).click();
    await addCluster('b');
    await eventually(() => expect(receiver.received).toHaveLength(2));
    const [, signed] = receiver.received;
    expect([first, second].map((secret) => signed !== undefined && isSignedWith(secret, signed))).toEqual([
      false,
      true,
    ]);

    await page.getByRole('button', { name: 'Details of the webhook' }).click();
    await dialog.getByRole('button', { name: 'Delete' }).click();
    await dialog.getByText('its dead letters are deleted').waitFor();
    await dialog.getByRole('button', { name: 'Delete the webhook' }).click();
    await dialog.waitFor({ state: 'detached' });
    await eventually(async () => expect(await rowsOf(page, 'Webhooks')).toEqual([]));
  });

  it('shows the dead letters of a wrong address, and sends them to the corrected one', async () => {
    // Events gather for half a minute of this clock.
    const clock = createVirtualClock(Date.parse('2026-06-01T12:00:00Z'));
    const mails = await startMailServer();
    const mailing = await createDashboardRig({
      tenants: TENANTS,
      traffic: 'none',
      seams: { clock },
      environment: { HEADROOM_SMTP_URL: mails.url, HEADROOM_MAIL_FROM: 'headroom@harbour.example' },
    });
    mails.refusedWith.set(WRONG ?? '', 550);
    const page = await mailing.open({ ...IN_UTC, hash, expected: /status of 400/ });
    await page.getByRole('button', { name: 'Create a mail subscription' }).click();
    const dialog = page.getByRole('dialog');
    const addresses = dialog.getByRole('textbox', { name: 'Addresses' });
    await addresses.fill(`${TAKING}, nobody`);
    await dialog.getByRole('button', { name: 'Create the mail subscription' }).click();
    await dialog.getByText('nobody must be one address').waitFor();
    await addresses.fill(`${TAKING}; ${WRONG}`);
    await dialog.getByRole('checkbox', { name: HOSTILE }).check();
    await dialog.getByRole('checkbox', { name: 'A charging session ended' }).check();
    await dialog.getByRole('checkbox', { name: 'alarm.muted' }).check();
    await dialog.getByRole('button', { name: 'Create the mail subscription' }).click();
    await dialog.waitFor({ state: 'detached' });
    await eventually(async () => {
      const [row] = await rowsOf(page, 'Mails');
      expect(row?.slice(0, 4)).toEqual([
        `${TAKING}, ${WRONG}`,
        'session.ended alarm.muted',
        HOSTILE,
        'delivered',
      ]);
    });
    const mute = { kind: 'OFFLINE', until: '2026-06-01T20:00:00Z' };
    for (let nth = 0; nth < 2; nth++) {
      const answer = await mailing.service.call('POST', '/locations/quay-1/alarm-mutes', mute);
      expect(answer.status).toBeLessThan(300);
    }
    await eventually(() => {
      clock.advance(500);
      expect(mails.mails.map(({ to }) => to)).toEqual([[TAKING]]);
    });
    await page.reload();
    await eventually(async () => expect((await rowsOf(page, 'Mails'))[0]?.[3]).toBe('given up'));
    await page.getByRole('button', { name: 'Details of the mail subscription' }).click();
    const letters = dialog.getByRole('list', { name: 'Dead letters' });
    await letters.getByText(`Not received by ${WRONG}`).first().waitFor();
    expect(await letters.getByRole('listitem').count()).toBe(2);
    await expectAccessible(page);
    await dialog.getByRole('button', { name: 'Change' }).click();
    await addresses.fill(`${TAKING} night@harbour.example`);
    await dialog.getByRole('button', { name: 'Save the change' }).click();
    await dialog.waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'Details of the mail subscription' }).click();
    await letters.getByRole('button', { name: 'Send again event' }).first().click();
    await eventually(() => expect(mails.mails[1]?.to).toEqual(['night@harbour.example']));
    await eventually(async () => expect(await letters.getByRole('listitem').count()).toBe(1));
    await dialog.getByRole('button', { name: 'Send all again' }).click();
    await eventually(() => expect(mails.mails).toHaveLength(3));
    await dialog.getByText('None: no event was given up.').waitFor();
    expect(await page.title()).toBe('Webhooks and mails – Headroom');
    const list = bodyOf(await mailing.service.call('GET', '/mail-subscriptions'), mailSubscriptionListSchema);
    expect(list.mailSubscriptions).toHaveLength(1);
    await mailing.closePages();
    await mailing.stop();
    await mails.stop();
  });

  it('shows nothing to a key without the scope, and nothing of another tenant', async () => {
    await rig.service.call('POST', '/webhooks', { url: 'https://harbour.example/secret-path' });
    const page = await rig.open({ as: 'nobody', expected: /status of 403/ });
    await signInAs(page, 'usual000');
    await page.getByRole('link', { name: 'Webhooks' }).click();
    await page.getByText('credentials:write').waitFor();
    expect(await page.getByRole('table').count()).toBe(0);
    await expectAccessible(page);
    const rival = await rig.open({ hash, as: RIVAL });
    await rival.getByText('No webhooks.').waitFor();
    expect(await rival.content()).not.toContain('secret-path');
  });

  it('shows the refusal to a key that may not read the events it would send', async () => {
    const page = await rig.open({ as: 'nobody', expected: /status of 403/ });
    await signInAs(page, 'onlycred');
    await page.getByRole('link', { name: 'Webhooks' }).click();
    await page.getByRole('button', { name: 'Create a webhook' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('textbox', { name: 'URL' }).fill('https://harbour.example/');
    await dialog.getByRole('button', { name: 'Create the webhook' }).click();
    await dialog.getByText('it needs the scope locations:read too').waitFor();
  });

  it('fits a phone and a wide screen, and is accessible', async () => {
    receiver.answer = () => 500;
    const path = `${receiver.url}/${'a-long-path/'.repeat(20)}`;
    await rig.service.call('POST', '/webhooks', { url: path });
    await addCluster('refused');
    for (const colorScheme of colorSchemes())
      for (const width of [360, 1280]) {
        const page = await rig.open({ ...IN_UTC, hash, colorScheme, viewport: { width, height: 760 } });
        await eventually(async () =>
          expect((await rowsOf(page, 'Webhooks'))[0]?.join(' ')).toContain('waiting'),
        );
        await expectAccessible(page);
        expect(await sidewaysScroll(page)).toBe(0);
        await page.getByRole('button', { name: 'Details of the webhook' }).click();
        await page.getByText('answered 500').waitFor();
        await expectAccessible(page);
        expect(await sidewaysScroll(page)).toBe(0);
        await page.keyboard.press('Escape');
        await page.getByRole('button', { name: 'Create a webhook' }).click();
        await page.getByRole('checkbox', { name: 'The quay-2' }).waitFor();
        await expectAccessible(page);
        expect(await sidewaysScroll(page)).toBe(0);
      }
  });
});
