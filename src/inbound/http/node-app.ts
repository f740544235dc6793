// The routes of a node, and the checks before them.
import type { RequestListener } from 'node:http';
import type { TenantUuid } from '../../../machines/values/ids.js';
import type { TenantCredentials } from '../../features/credentials/credentials.js';
import { CREDENTIAL_ENDPOINTS } from '../../features/credentials/credentials.js';
import { ENDPOINTS } from '../../features/endpoints.js';
import { LOCATION_TRAFFIC } from '../../features/site-messages.js';
import { followEvents } from '../../features/stream-views.js';
import { issueToken } from '../../features/tokens/tokens.js';
import { GuessLimit } from '../../guess-limit.js';
import type { Metrics } from '../../metrics.js';
import { PasswordCheck } from '../../password-check.js';
import type { Clock } from '../../ports/clock.js';
import type { Log } from '../../ports/log.js';
import type { Store } from '../../ports/store.js';
import { SignInLog } from '../../sign-in-log.js';
import { createAsyncApiDocument } from '../../wire/asyncapi.js';
import type { Health } from '../../wire/health.js';
import { createOpenApiDocument, type EndpointDescription } from '../../wire/openapi.js';
import { Access, FailedSignIns } from './access.js';
import type { CredentialDirectory, CredentialUses } from './credentials.js';
import {
  createBodyReader,
  createEndpointHandler,
  type Handler,
  type WithApplication,
} from './endpoint-handler.js';
import type { Exchange, Exchanges } from './exchange.js';
import { Idempotency } from './idempotency.js';
import { createListener, type Route } from './listener.js';
import { FORWARDED_HEADER, type NodeTokens } from './node-tokens.js';
import { Refusal, retryAfter } from './refusal.js';
import { ASSET_PATH, createDashboardHandlers, DASHBOARD_PATH } from './routes/dashboard.js';
import { createDocsHandlers, DOCS_FILE_PATH, DOCS_PAGE_PATH, DOCS_PATH } from './routes/docs-page.js';
import {
  ASYNCAPI_PATH,
  createDescriptionHandler,
  createMetricsHandler,
  METRICS_PATH,
  OPENAPI_PATH,
} from './routes/documents.js';
import { createHealthHandler, HEALTH_ENDPOINT } from './routes/health.js';
import { createStreamHandler } from './routes/stream.js';
import { createAuthenticateClient, createTokenHandler } from './routes/token.js';
import type { Tokens } from './tokens.js';

/** The settings of the REST side, units as in their names; `Config` has them. */
export interface HttpSettings {
  readonly httpBodyLimitBytes: number;
  readonly httpRatePerS: number;
  readonly authFailuresPerMin: number;
  /** Number of reverse proxies in front. */
  readonly trustProxy: number;
  /** Bearer token for `/metrics`; undefined: none is needed. */
  readonly metricsToken?: string | undefined;
}

export interface HttpParts {
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly withApplication: WithApplication;
  /** Forwards a request before its caller is known, if another node runs all tenants. */
  readonly forwardElsewhere?: (exchange: Exchange) => Promise<void> | undefined;
  readonly credentials: CredentialDirectory;
  readonly tenantCredentials: TenantCredentials;
  /** Returns the store that may write for the tenant. */
  readonly storeOf: (tenantUuid: TenantUuid) => Pick<Store, 'append' | 'read'>;
  readonly credentialUses: CredentialUses;
  readonly tokens: Tokens;
  readonly health: () => Health | Promise<Health>;
  /** The processor is so short that read requests are refused. */
  readonly areReadsRefused: () => boolean;
  readonly version: string;
  /** Proves the client address of a request that another node forwarded. */
  readonly nodeTokens?: NodeTokens;
  /** Limit on open files of the process; by default the limit of the host. */
  readonly openFiles?: number;
  /** Milliseconds that a client may neither send nor read while an answer is due; 30 s by default. */
  readonly silentAtMostMs?: number;
  /** Folder of the built dashboard, with a final slash; by default the build's output. */
  readonly pageDirectory?: string;
}

type AppParts = HttpParts & Exchanges;

const STOPPING_WAIT_MS = 5000;
const SECRET_CHECKS_AT_ONCE = 1;
const OVERLOADED_WAIT_MS = 10_000;

const INSTEAD_OF_DELETE = new Map(
  ENDPOINTS.flatMap(({ path, insteadOfDelete }) =>
    insteadOfDelete === undefined ? [] : [[path, insteadOfDelete]],
  ),
);

const HEALTH_PATH = '/health';
/** The endpoints in the OpenAPI document. */
export const DESCRIBED: readonly EndpointDescription[] = [
  ...ENDPOINTS,
  ...CREDENTIAL_ENDPOINTS,
  followEvents,
  HEALTH_ENDPOINT,
  issueToken,
];
const OWN_PATHS = new Set([HEALTH_PATH, HEALTH_ENDPOINT.path, METRICS_PATH]);

export function createNodeApp(config: HttpSettings, parts: AppParts): RequestListener {
  return createListener({
    ...parts,
    trustProxy: config.trustProxy,
    routes: routesOf(config, parts),
    nothingAt: (path) =>
      `There is nothing at ${path}: ${path.endsWith('/') ? 'leave out the last slash, or ' : ''}see ${OPENAPI_PATH}.`,
    insteadOfDelete: INSTEAD_OF_DELETE,
    enter: createEntrance(parts),
  });
}

/**
 * Refuses requests during a stop, and forwards them if another node runs all tenants. A node reports its own health and
 * metrics, whether or not it runs the tenants.
 */
function createEntrance({ isStopping, nodeTokens, forwardElsewhere }: AppParts) {
  return (exchange: Exchange): Promise<void> | undefined => {
    const { request, response, path } = exchange;
    if (isStopping()) {
      response.shouldKeepAlive = false;
      throw new Refusal(
        'SERVICE_UNAVAILABLE',
        'The service is shutting down: try again shortly.',
        retryAfter(STOPPING_WAIT_MS),
      );
    }
    const header = request.headers[FORWARDED_HEADER];
    // A forwarded request has the address of its client, not of the node.
    const address = typeof header === 'string' ? nodeTokens?.addressOf(header) : undefined;
    if (address !== undefined) exchange.address = address;
    const forwarded = OWN_PATHS.has(path) ? undefined : forwardElsewhere?.(exchange);
    if (forwarded !== undefined) exchange.route = 'forwarded';
    return forwarded;
  };
}

/** A request for a token has no credential yet, so nobody else bounds its body. */
const MOST_TOKEN_BYTES = 100_000;

function routesOf(config: HttpSettings, parts: AppParts): readonly Route[] {
  const { clock, metrics, credentials, tenantCredentials, credentialUses: uses, tokens } = parts;
  const guesses = new GuessLimit(clock, config.authFailuresPerMin);
  const signInLog = new SignInLog(clock, parts.log);
  const failedSignIns = new FailedSignIns({ guesses, metrics, signInLog });
  const passwordCheck = new PasswordCheck(guesses, SECRET_CHECKS_AT_ONCE);
  const limitBytes = config.httpBodyLimitBytes;
  const { withApplication } = parts;
  const ratePerS = config.httpRatePerS;
  const access = new Access({ credentials, tokens, failedSignIns, clock, ratePerS, uses });
  const checks = {
    withApplication,
    access,
    readBody: createBodyReader({ limitBytes, form: false }),
    idempotency: new Idempotency(parts),
  };
  const health = createHealthHandler(parts.health);
  const token = createTokenHandler({
    tokens,
    readBody: createBodyReader({ limitBytes: Math.min(limitBytes, MOST_TOKEN_BYTES), form: true }),
    clock,
    authenticateClient: createAuthenticateClient({ credentials, passwordCheck, failedSignIns, clock, uses }),
  });
  const dashboard = createDashboardHandlers(parts.pageDirectory);
  const docs = createDocsHandlers();
  const stream = createStreamHandler({ ...parts, access });

  const routeOf = ({ method, path }: EndpointDescription, handler: Handler) =>
    [method, path, method === 'get' ? whileReadsAreAnswered(handler, parts) : handler] as const;
  return [
    ...ENDPOINTS.map((row) => routeOf(row, createEndpointHandler(row, row, checks))),
    ...CREDENTIAL_ENDPOINTS.map((row) =>
      routeOf(
        row,
        createEndpointHandler(
          row,
          (asked, caller) => row.handle({ credentials: tenantCredentials, caller }, asked),
          checks,
        ),
      ),
    ),
    routeOf(followEvents, stream),
    [HEALTH_ENDPOINT.method, HEALTH_ENDPOINT.path, health],
    ['get', HEALTH_PATH, health],
    [issueToken.method, issueToken.path, token],
    ['get', OPENAPI_PATH, createDescriptionHandler(() => createOpenApiDocument(DESCRIBED, parts.version))],
    [
      'get',
      ASYNCAPI_PATH,
      createDescriptionHandler(() => createAsyncApiDocument(LOCATION_TRAFFIC, parts.version)),
    ],
    ['get', METRICS_PATH, createMetricsHandler(metrics, config.metricsToken)],
    ['get', DASHBOARD_PATH, dashboard.page],
    ['get', ASSET_PATH, dashboard.asset],
    ['get', DOCS_PATH, docs.moved],
    ['get', DOCS_PAGE_PATH, docs.page],
    ['get', DOCS_FILE_PATH, docs.file],
  ];
}

/** Refuses before any other check: that saves the work. */
function whileReadsAreAnswered(handler: Handler, { areReadsRefused, metrics }: AppParts): Handler {
  return (exchange) => {
    if (!areReadsRefused()) return handler(exchange);
    metrics.shed.inc({ what: 'read' });
    throw new Refusal(
      'SERVICE_UNAVAILABLE',
      'The service is short of processor time and refuses requests that only read: try again shortly.',
      retryAfter(OVERLOADED_WAIT_MS),
    );
  };
}
