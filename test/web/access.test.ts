// The Access page in the browser: a key is created, shown once, used and revoked, and users without permission see no
// keys.
import type { Locator } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '../eventually.js';
import { HARBOUR, RIVAL, site, tenantWith } from '../service/running-service.js';
import { expectAccessible } from './accessibility.js';
import {
  colorSchemes,
  createDashboardRig,
  cutTexts,
  type DashboardRig,
  ON_PAGES,
  sidewaysScroll,
  signInAs,
  withFewerScopes,
} from './dashboard-rig.js';
import { IN_UTC, inputOf, rowsOf } from './location-figures.js';

const hash = '/access';
const PHONE = { width: 360, height: 720 };
const HOSTILE = `<img src=x onerror="document.title='run'"><b>bold</b>"'&amp;`;

const TENANTS = [withFewerScopes(tenantWith(HARBOUR, [site('quay-1')])), tenantWith(RIVAL, [site('quay-9')])];

describe('The Access page', ON_PAGES, () => {
  let rig: DashboardRig;

  beforeAll(async () => {
    rig = await createDashboardRig({ tenants: TENANTS, traffic: 'none' });
  });
  afterEach(() => rig.closePages());
  afterAll(() => rig.stop());

  async function fill(dialog: Locator, name: string, ...scopes: string[]): Promise<void> {
    await dialog.getByRole('textbox', { name: 'Name' }).fill(name);
    for (const scope of scopes) await dialog.getByRole('checkbox', { name: scope }).check();
  }

  function statusOf(apiKey: string): Promise<number> {
    const headers = { 'x-api-key': apiKey };
    return rig.service.send('GET', '/locations/quay-1/limits', { headers }).then(({ status }) => status);
  }

  it('creates an API key, shows it once, and revokes it for its next request', async () => {
    const page = await rig.open({ ...IN_UTC, hash, permissions: ['clipboard-read', 'clipboard-write'] });
    await page.getByRole('button', { name: 'Create an API key' }).click();
    const dialog = page.getByRole('dialog');
    await fill(dialog, 'Fleet back end', 'locations:read');
    await dialog.getByLabel('Expires').fill(inputOf(Date.now() + 3_600_000));
    await dialog.getByRole('button', { name: 'Create the API key' }).click();
    await dialog.getByText('shown only once').waitFor();
    const apiKey = await dialog.getByRole('textbox', { name: 'API key' }).inputValue();
    expect(await statusOf(apiKey)).toBe(200);
    await dialog.getByRole('button', { name: 'Copy the API key' }).click();
    await page.getByText('API key copied.').waitFor();
    expect(await page.evaluate('navigator.clipboard.readText()')).toBe(apiKey);
    await expectAccessible(page);
    await dialog.getByRole('button', { name: 'I have stored the secret' }).click();

    const secret = apiKey.slice(12);
    const places =
      'document.documentElement.outerHTML + JSON.stringify([{...localStorage}, {...sessionStorage}])';
    expect(String(await page.evaluate(places))).not.toContain(secret);
    expect(page.url()).not.toContain(secret);
    await eventually(async () => {
      const row = (await rowsOf(page, 'API keys')).find((cells) => cells[0]?.includes('Fleet back end'));
      expect(row?.slice(1, 3)).toEqual([apiKey.slice(3, 11), 'locations:read']);
      expect(row?.[5]).toContain('active');
    });
    await page.reload();
    await page.getByRole('button', { name: 'Details of the API key Fleet back end' }).click();
    await dialog
      .getByText(`(signed in)`)
      .or(dialog.getByText(HARBOUR.slice(0, 8)))
      .first()
      .waitFor();
    await dialog.getByRole('button', { name: 'Revoke' }).click();
    await dialog.getByText('from the next request on').waitFor();
    await dialog.getByRole('button', { name: 'Revoke the API key' }).click();
    await dialog.waitFor({ state: 'detached' });
    expect(await statusOf(apiKey)).toBe(401);
    await eventually(async () => {
      expect((await rowsOf(page, 'API keys')).flat().join()).not.toContain('Fleet back end');
    });
    await page.getByRole('checkbox', { name: 'Show 1 ended one' }).check();
    await eventually(async () => {
      const row = (await rowsOf(page, 'API keys')).find((cells) => cells[0]?.includes('Fleet back end'));
      expect(row?.[5]).toContain('revoked');
    });
  });

  it('creates a client whose secret gives a token, and shows errors at the field', async () => {
    const page = await rig.open({ ...IN_UTC, hash, expected: /status of 400/ });
    await page.getByRole('button', { name: 'Create an OAuth client' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('button', { name: 'Create the OAuth client' }).click();
    await eventually(async () => {
      expect(await dialog.getByRole('textbox', { name: 'Name' }).getAttribute('aria-invalid')).toBe('true');
      await dialog.getByText('must be a list of at least one scope').waitFor();
    });
    await fill(dialog, HOSTILE, 'clusters:read', 'locations:read');
    await dialog.getByRole('button', { name: 'Create the OAuth client' }).click();
    const clientId = await dialog.getByRole('textbox', { name: 'Client id' }).inputValue();
    const clientSecret = await dialog.getByRole('textbox', { name: 'Client secret' }).inputValue();
    const body = { grant_type: 'client_credentials', client_id: clientId, client_secret: clientSecret };
    const token = await rig.service.send('POST', '/oauth/token', { body });
    expect(token).toMatchObject({ status: 200, body: { scope: 'locations:read clusters:read' } });
    await page.keyboard.press('Escape');
    await page.getByRole('button', { name: `Details of the OAuth client ${HOSTILE}` }).click();
    await dialog.getByRole('button', { name: 'Disable' }).click();
    await dialog.getByRole('button', { name: 'Disable the OAuth client' }).click();
    await dialog.waitFor({ state: 'detached' });
    expect((await rig.service.send('POST', '/oauth/token', { body })).status).toBe(401);
    expect(await page.title()).toBe('Access – Headroom');
  });

  it('opens for a key with only this scope, offers no other scope, and warns before its revocation', async () => {
    const page = await rig.open({ as: 'nobody', expected: /status of (403|401)/ });
    await signInAs(page, 'onlycred');
    await page.getByRole('heading', { level: 1, name: 'Access' }).waitFor();
    await page.getByRole('button', { name: 'Create an API key' }).click();
    const dialog = page.getByRole('dialog');
    expect(await dialog.getByRole('checkbox').count()).toBe(1);
    await dialog.getByRole('checkbox', { name: 'credentials:write' }).waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('button', { name: 'Details of the API key onlycred' }).click();
    await dialog.getByRole('button', { name: 'Revoke' }).click();
    await dialog.getByText('this ends your sign-in').waitFor();
    await dialog.getByRole('button', { name: 'Revoke the API key' }).click();
    await page.getByRole('button', { name: 'Sign in' }).waitFor();
  });

  it('shows no credentials to a key without the scope, and names the command to issue one', async () => {
    const page = await rig.open({ as: 'nobody', expected: /status of 403/ });
    await signInAs(page, 'usual000');
    await page.getByRole('link', { name: 'Access' }).click();
    await page.getByText('headroom key issue TENANT --scope credentials:write').waitFor();
    expect(await page.getByRole('table').count()).toBe(0);
    await expectAccessible(page);
  });

  it('shows only credentials of its own tenant, and is accessible', async () => {
    for (const colorScheme of colorSchemes())
      for (const viewport of [PHONE, { width: 1280, height: 800 }]) {
        const page = await rig.open({ ...IN_UTC, hash, as: RIVAL, colorScheme, viewport });
        await eventually(async () => {
          const names = (await rowsOf(page, 'API keys')).map((cells) => cells[0]);
          expect(names.join()).toContain(`${RIVAL.slice(0, 8)} (signed in)`);
          expect(names).toHaveLength(2);
        });
        expect(await page.content()).not.toContain(HARBOUR.slice(0, 8));
        await expectAccessible(page);
        expect(await sidewaysScroll(page)).toBe(0);
        expect(await cutTexts(page, '.access tbody th')).toEqual([]);
        await page
          .getByRole('button', { name: /^Details of the API key/ })
          .first()
          .click();
        await expectAccessible(page);
        await page.keyboard.press('Escape');
        await page.getByRole('button', { name: 'Create an API key' }).click();
        await page.getByRole('checkbox', { name: 'org:write' }).waitFor();
        await expectAccessible(page);
        expect(await sidewaysScroll(page)).toBe(0);
      }
  });
});
