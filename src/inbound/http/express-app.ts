// The Express app of a node: all middleware and routes, in the order that a request passes them.
import express, { type Express } from 'express';
import { DomainError } from '../../../machines/values/errors.js';
import type { TenantCredentials } from '../../features/credentials/credentials.js';
import { CREDENTIAL_ENDPOINTS } from '../../features/credentials/credentials.js';
import { ENDPOINTS } from '../../features/endpoints.js';
import { SITE_MESSAGES } from '../../features/site-messages.js';
import { followEvents } from '../../features/stream-views.js';
import { issueToken } from '../../features/tokens/tokens.js';
import { GuessLimit } from '../../guess-limit.js';
import type { Metrics } from '../../metrics.js';
import { PasswordCheck } from '../../password-check.js';
import type { Clock } from '../../ports/clock.js';
import type { Log } from '../../ports/log.js';
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
  type Parameters,
  type WithApplication,
} from './endpoint-handler.js';
import { createErrorHandler } from './error-handler.js';
import { type Answer, createReception, type Exchanges } from './exchange.js';
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
  readonly forwardElsewhere?: (request: express.Request, response: Answer) => Promise<void> | undefined;
  readonly credentials: CredentialDirectory;
  readonly tenantCredentials: TenantCredentials;
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
const OWN_PATHS = new Set([HEALTH_PATH, HEALTH_ENDPOINT.path, METRICS_PATH]);

type Routes = Map<string, Map<string, Handler>>;

export function createExpressApp(config: HttpSettings, parts: AppParts): Express {
  const app = express();
  app.disable('x-powered-by');
  app.enable('case sensitive routing');
  app.enable('strict routing');
  app.set('trust proxy', config.trustProxy);
  app.set('query parser', false);

  app.use(createReception(parts));
  app.use(createEntrance(parts));
  if (parts.forwardElsewhere !== undefined) app.use(createForwarder(parts.forwardElsewhere));
  for (const [path, handlers] of routesOf(config, parts)) mount(app, path, handlers);
  app.use((request) => {
    throw new DomainError('NOT_FOUND', `There is nothing at ${request.path}: see ${OPENAPI_PATH}.`);
  });
  app.use(createErrorHandler(parts.log));
  return app;
}

/** Refuses requests during a stop. A forwarded request has the address of its client, not of the node. */
function createEntrance({ isStopping, nodeTokens }: AppParts): express.RequestHandler {
  return (request, response, next) => {
    if (isStopping()) {
      response.shouldKeepAlive = false;
      throw new Refusal(
        'SERVICE_UNAVAILABLE',
        'The service is shutting down: try again shortly.',
        retryAfter(STOPPING_WAIT_MS),
      );
    }
    const header = request.headers[FORWARDED_HEADER];
    const address = typeof header === 'string' ? nodeTokens?.addressOf(header) : undefined;
    if (address !== undefined) Object.defineProperty(request, 'ip', { value: address });
    next();
  };
}

/** A node reports its own health and metrics, whether or not it runs the tenants. */
function createForwarder(
  forwardElsewhere: NonNullable<HttpParts['forwardElsewhere']>,
): (request: express.Request, response: Answer, next: express.NextFunction) => Promise<void> | undefined {
  return (request, response, next) => {
    const forwarded = OWN_PATHS.has(request.path) ? undefined : forwardElsewhere(request, response);
    if (forwarded === undefined) next();
    else response.locals.route = 'forwarded';
    return forwarded;
  };
}

/** A request for a token has no credential yet, so nobody else bounds its body. */
const MOST_TOKEN_BYTES = 100_000;

/** Every path with its methods. */
function routesOf(config: HttpSettings, parts: AppParts): Routes {
  const { clock, metrics, credentials, tenantCredentials, credentialUses: uses, tokens } = parts;
  const guesses = new GuessLimit(clock, config.authFailuresPerMin);
  const signInLog = new SignInLog(clock, parts.log);
  const failedSignIns = new FailedSignIns({ guesses, metrics, signInLog });
  const passwordCheck = new PasswordCheck(guesses, SECRET_CHECKS_AT_ONCE);
  const limitBytes = config.httpBodyLimitBytes;
  const { withApplication } = parts;
  const ratePerS = config.httpRatePerS;
  const access = new Access({ credentials, tokens, failedSignIns, clock, ratePerS, uses });
  const checks = { withApplication, access, readBody: createBodyReader({ limitBytes, form: false }) };
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
  const described = [...ENDPOINTS, ...CREDENTIAL_ENDPOINTS, followEvents, HEALTH_ENDPOINT, issueToken];

  const routeOf = ({ method, path }: EndpointDescription, handler: Handler) =>
    [method, path, method === 'get' ? whileReadsAreAnswered(handler, parts) : handler] as const;
  const routes: Routes = new Map();
  for (const [method, path, handler] of [
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
    ['get', OPENAPI_PATH, createDescriptionHandler(() => createOpenApiDocument(described, parts.version))],
    [
      'get',
      ASYNCAPI_PATH,
      createDescriptionHandler(() => createAsyncApiDocument(Object.values(SITE_MESSAGES), parts.version)),
    ],
    ['get', METRICS_PATH, createMetricsHandler(metrics, config.metricsToken)],
    ['get', DASHBOARD_PATH, dashboard.page],
    ['get', ASSET_PATH, dashboard.asset],
    ['get', DOCS_PATH, docs.moved],
    ['get', DOCS_PAGE_PATH, docs.page],
    ['get', DOCS_FILE_PATH, docs.file],
  ] as const) {
    routes.set(path, (routes.get(path) ?? new Map()).set(method.toUpperCase(), handler));
  }
  return routes;
}

/** Refuses before any other check: that saves the work. */
function whileReadsAreAnswered(handler: Handler, { areReadsRefused, metrics }: AppParts): Handler {
  return (request, response) => {
    if (!areReadsRefused()) return handler(request, response);
    metrics.shed.inc({ what: 'read' });
    throw new Refusal(
      'SERVICE_UNAVAILABLE',
      'The service is short of processor time and refuses requests that only read: try again shortly.',
      retryAfter(OVERLOADED_WAIT_MS),
    );
  };
}

/** One Express route for each path: its methods, `HEAD` with `GET`, and 405 for any other. */
function mount(app: Express, path: string, handlers: ReadonlyMap<string, Handler>): void {
  const methods = [...handlers.keys()];
  const allow = (methods.includes('GET') ? [...methods, 'HEAD'] : methods).join(', ');
  // One layer for all methods: `app.all` would add one for each of Node's 34.
  app
    .route(path.replace(/\{(\w+)\}/g, ':$1'))
    .all((request: express.Request<Parameters>, response: Answer) => {
      response.locals.route = path;
      const handler = handlers.get(request.method === 'HEAD' ? 'GET' : request.method);
      if (handler !== undefined) return handler(request, response);
      const advice = (request.method === 'DELETE' && INSTEAD_OF_DELETE.get(path)) || `use ${allow}.`;
      throw new Refusal('METHOD_NOT_ALLOWED', `${request.method} is not possible here: ${advice}`, { allow });
    });
}
