// Every version of the schema, named in code: the list is the same from sources, from a build and in tests.
// Keys begin with the tenant, instants are epoch milliseconds, power is kW where a column does not name another unit.
import { randomUUID } from 'node:crypto';
import type { Knex } from 'knex';
import { engineOf } from './engine.js';

interface NamedMigration extends Knex.Migration {
  readonly name: string;
}

/** Terms of SQL that differ between the engines. */
interface Dialect {
  /** Text compares by its bytes on both engines. */
  readonly text: string;
  /** End of a table. SQLite then stores rows in the order of their key, so the rows of a tenant are together. */
  readonly end: string;
  /** Counts submissions. SQLite has no identity column in a composite key: there the insert counts. */
  readonly counted: string;
}

function dialectOf(knex: Knex): Dialect {
  return engineOf(knex) === 'sqlite'
    ? { text: 'text', end: 'without rowid', counted: 'bigint not null' }
    : { text: 'text collate "C"', end: '', counted: 'bigint generated always as identity' };
}

async function runAll(knex: Knex, statements: readonly string[]): Promise<void> {
  for (const statement of statements) await knex.raw(statement);
}

/** Drops the tables that the statements create, the last one first. */
async function dropTables(knex: Knex, statements: readonly string[]): Promise<void> {
  for (const statement of statements.toReversed()) {
    const [, table] = /^\s*create table (\w+)/.exec(statement) ?? [];
    if (table !== undefined) await knex.schema.dropTable(table);
  }
}

type AddedColumns = readonly (readonly [table: string, column: string])[];

function added(columns: AddedColumns): readonly string[] {
  return columns.map(([table, column]) => `alter table ${table} add column ${column}`);
}

function dropped(columns: AddedColumns): readonly string[] {
  return columns.map(([table, column]) => `alter table ${table} drop column ${column.split(' ')[0]}`);
}

function release01(dialect: Dialect): readonly string[] {
  return [
    ...credentials(dialect),
    ...sites(dialect),
    ...profiles(dialect),
    ...clusters(dialect),
    'create table revision_counter (only_row integer primary key check (only_row = 1), revision bigint not null)',
    'insert into revision_counter (only_row, revision) values (1, 0)',
    // One running service at a time owns the database. It raises the epoch at its start.
    'create table owner (only_row integer primary key check (only_row = 1), epoch bigint not null)',
    'insert into owner (only_row, epoch) values (1, 0)',
    ...enforcement(dialect),
  ];
}

function credentials({ text, end }: Dialect): readonly string[] {
  return [
    `create table tenants (
      tenant_uuid ${text} primary key,
      name ${text} not null,
      features ${text} not null,
      sites_revision bigint not null,
      credentials_revision bigint not null
    ) ${end}`,
    `create table api_keys (
      tenant_uuid ${text} not null references tenants,
      key_id ${text} not null unique,
      secret_hash ${text} not null,
      scopes ${text} not null,
      expires_at_ms bigint,
      revoked_at_ms bigint,
      primary key (tenant_uuid, key_id)
    ) ${end}`,
    `create table oauth_clients (
      tenant_uuid ${text} not null references tenants,
      client_id ${text} not null unique,
      secret_hash ${text} not null,
      scopes ${text} not null,
      disabled_at_ms bigint,
      primary key (tenant_uuid, client_id)
    ) ${end}`,
  ];
}

function sites({ text, end, counted }: Dialect): readonly string[] {
  return [
    `create table locations (
      tenant_uuid ${text} not null references tenants,
      location_id ${text} not null,
      name ${text} not null,
      status ${text} not null check (status in ('ACTIVE', 'INACTIVE')),
      permanent_limit_kw double precision not null check (permanent_limit_kw > 0),
      provisioned_permanent_limit_kw double precision not null,
      grid_limit_kw double precision,
      primary key (tenant_uuid, location_id)
    ) ${end}`,
    `create table permanent_limit_changes (
      tenant_uuid ${text} not null,
      change ${counted},
      location_id ${text} not null,
      limit_kw double precision not null check (limit_kw > 0),
      set_at_ms bigint not null,
      primary key (tenant_uuid, change),
      foreign key (tenant_uuid, location_id) references locations
    ) ${end}`,
    'create index permanent_limit_changes_by_location on permanent_limit_changes (tenant_uuid, location_id, change)',
    `create table chargers (
      tenant_uuid ${text} not null,
      controller_uuid ${text} not null,
      location_id ${text} not null,
      mqtt_secret_hash ${text},
      primary key (tenant_uuid, controller_uuid),
      foreign key (tenant_uuid, location_id) references locations
    ) ${end}`,
    `create table connectors (
      tenant_uuid ${text} not null,
      controller_uuid ${text} not null,
      connector_id ${text} not null,
      status ${text} not null check (status in ('ACTIVE', 'INACTIVE')),
      phases integer not null check (phases in (1, 3)),
      voltage_v double precision not null,
      max_current_a double precision not null,
      failsafe_a double precision not null,
      primary key (tenant_uuid, controller_uuid, connector_id),
      foreign key (tenant_uuid, controller_uuid) references chargers
    ) ${end}`,
    `create table gateways (
      tenant_uuid ${text} not null references tenants,
      gateway_id ${text} not null,
      mqtt_secret_hash ${text},
      primary key (tenant_uuid, gateway_id)
    ) ${end}`,
    `create table gateway_controllers (
      tenant_uuid ${text} not null,
      gateway_id ${text} not null,
      controller_uuid ${text} not null,
      primary key (tenant_uuid, gateway_id, controller_uuid),
      foreign key (tenant_uuid, gateway_id) references gateways,
      foreign key (tenant_uuid, controller_uuid) references chargers
    ) ${end}`,
  ];
}

function profiles({ text, end, counted }: Dialect): readonly string[] {
  return [
    // Of a location, of a connector or, with neither, of the organization.
    `create table profiles (
      tenant_uuid ${text} not null references tenants,
      submission ${counted},
      location_id ${text},
      controller_uuid ${text},
      connector_id ${text},
      priority integer not null check (priority between 0 and 10),
      limit_kw double precision not null check (limit_kw > 0),
      starts_at_ms bigint not null,
      ends_at_ms bigint not null,
      submitted_at_ms bigint not null,
      superseded_at_ms bigint,
      primary key (tenant_uuid, submission),
      foreign key (tenant_uuid, location_id) references locations,
      foreign key (tenant_uuid, controller_uuid, connector_id) references connectors,
      check (starts_at_ms < ends_at_ms),
      check ((controller_uuid is null) = (connector_id is null)),
      check (location_id is null or controller_uuid is null)
    ) ${end}`,
    // One holder for each slot. `coalesce` is needed because null differs from null in a unique index.
    `create unique index profile_holders on profiles (
      tenant_uuid, coalesce(location_id, ''), coalesce(controller_uuid, ''), coalesce(connector_id, ''), priority
    ) where superseded_at_ms is null`,
    'create index profiles_by_target on profiles (tenant_uuid, location_id, controller_uuid, connector_id, submission)',
  ];
}

function clusters({ text, end }: Dialect): readonly string[] {
  return [
    `create table clusters (
      tenant_uuid ${text} not null references tenants,
      cluster_id ${text} not null,
      name ${text} not null,
      limit_kw double precision check (limit_kw > 0),
      status ${text} not null check (status in ('ACTIVE', 'INACTIVE')),
      created_at_ms bigint not null,
      updated_at_ms bigint not null,
      primary key (tenant_uuid, cluster_id)
    ) ${end}`,
    `create table cluster_members (
      tenant_uuid ${text} not null,
      cluster_id ${text} not null,
      position integer not null,
      location_id ${text} not null,
      primary key (tenant_uuid, cluster_id, position),
      unique (tenant_uuid, cluster_id, location_id),
      foreign key (tenant_uuid, cluster_id) references clusters on delete cascade,
      foreign key (tenant_uuid, location_id) references locations
    ) ${end}`,
  ];
}

/** No foreign keys: these rows share commits with clients' writes, and must not make those fail. */
function enforcement({ text, end }: Dialect): readonly string[] {
  return [
    `create table reservations (
      tenant_uuid ${text} not null,
      controller_uuid ${text} not null,
      connector_id ${text} not null,
      limit_tenths_a integer not null,
      then_tenths_a integer not null,
      lease ${text} not null check (lease in ('heartbeat', 'receipt', 'none')),
      primary key (tenant_uuid, controller_uuid, connector_id)
    ) ${end}`,
    `create table alarms (
      tenant_uuid ${text} not null,
      alarm_id ${text} not null,
      kind ${text} not null,
      location_id ${text} not null,
      controller_uuid ${text},
      connector_id ${text},
      reason ${text} not null,
      began_at_ms bigint not null,
      ended_at_ms bigint,
      primary key (tenant_uuid, alarm_id)
    ) ${end}`,
    'create index alarms_open on alarms (tenant_uuid, began_at_ms, alarm_id) where ended_at_ms is null',
    // The index includes the end, so alarms that ended before a window are skipped inside the index.
    'create index alarms_by_tenant on alarms (tenant_uuid, began_at_ms, alarm_id, ended_at_ms)',
    'create index alarms_by_location on alarms (tenant_uuid, location_id, began_at_ms, alarm_id, ended_at_ms)',
    `create table power_minutes (
      tenant_uuid ${text} not null,
      location_id ${text} not null,
      at_ms bigint not null,
      mean_w double precision not null,
      max_w double precision not null,
      limit_w double precision not null,
      primary key (tenant_uuid, location_id, at_ms)
    ) ${end}`,
  ];
}

/** Tables that release 0.2 adds. */
function tablesOf02({ text, end }: Dialect): readonly string[] {
  return [
    `create table operators (
      tenant_uuid ${text} not null,
      location_id ${text} not null,
      operator_uuid ${text} not null,
      mqtt_secret_hash ${text},
      failsafe_kw double precision not null check (failsafe_kw >= 0),
      failsafe_min_ms bigint not null,
      missing_after_ms bigint not null,
      primary key (tenant_uuid, location_id),
      foreign key (tenant_uuid, location_id) references locations
    ) ${end}`,
    // No foreign key: these rows share commits with clients' writes, and must not make those fail.
    `create table operator_events (
      tenant_uuid ${text} not null,
      location_id ${text} not null,
      change bigint not null,
      recorded_at_ms bigint not null,
      state ${text} not null,
      since_ms bigint not null,
      source ${text},
      limit_kw double precision,
      ends_at_ms bigint,
      sent_at_ms bigint,
      newest_sent_at_ms bigint,
      primary key (tenant_uuid, location_id, change)
    ) ${end}`,
    // Seals by which a later provisioning recognizes unchanged passwords, as JSON.
    `create table password_seals (
      tenant_uuid ${text} not null primary key references tenants,
      seals text not null
    )`,
    `create table site_meters (
      tenant_uuid ${text} not null,
      location_id ${text} not null,
      meter_uuid ${text} not null,
      mqtt_secret_hash ${text},
      covers ${text} not null,
      max_building_kw double precision not null check (max_building_kw >= 0),
      reserve_least_kw double precision not null check (reserve_least_kw >= 0),
      reserve_most_kw double precision not null check (reserve_most_kw >= reserve_least_kw),
      pv_raises_headroom integer not null,
      primary key (tenant_uuid, location_id),
      foreign key (tenant_uuid, location_id) references locations
    ) ${end}`,
    // The counted part of the last billed window.
    `create table billed_windows (
      tenant_uuid ${text} not null,
      location_id ${text} not null,
      starts_at_ms bigint not null,
      used_ws double precision not null check (used_ws >= 0),
      counted_until_ms bigint not null,
      primary key (tenant_uuid, location_id),
      foreign key (tenant_uuid, location_id) references locations
    ) ${end}`,
    // For nodes that share the tenants. A shard without an owner has NULLs. Leases end by the database's clock.
    `create table shards (
      shard integer primary key,
      epoch bigint not null,
      commits bigint not null,
      node_id ${text},
      node_url ${text},
      alive_until_ms bigint
    )`,
    // `declined` lists the shards that a node could not run, separated by spaces. Other nodes take them.
    `create table members (
      node_id ${text} primary key,
      node_url ${text},
      alive_until_ms bigint not null,
      declined text
    )`,
  ];
}

/** No foreign key: these rows share commits with clients' writes, and must not make those fail. */
function departures({ text, end }: Dialect): readonly string[] {
  return [
    `create table session_needs (
      tenant_uuid ${text} not null,
      controller_uuid ${text} not null,
      connector_id ${text} not null,
      session_id ${text},
      declared ${text} not null,
      delivered_wh double precision not null check (delivered_wh >= 0),
      register_wh double precision,
      primary key (tenant_uuid, controller_uuid, connector_id)
    ) ${end}`,
  ];
}

/** NULL means: no departures of its own. A row without an arrival is from before. */
const DEPARTURES_BY_WEEKDAY = [
  ['locations', 'departures text'],
  ['connectors', 'departures text'],
  ['session_needs', 'arrived_at_ms bigint'],
  ['session_needs', 'soc_percent double precision'],
  ['session_needs', 'soc_at_wh double precision'],
] as const;

/** A record of each ended session; no foreign key, as above. A row of a car from before has neither column. */
function chargingSessions({ text, end }: Dialect): readonly string[] {
  return [
    `create table charging_sessions (
      tenant_uuid ${text} not null,
      location_id ${text} not null,
      controller_uuid ${text} not null,
      connector_id ${text} not null,
      arrived_at_ms bigint not null,
      left_at_ms bigint not null,
      session_id ${text} not null,
      delivered_wh double precision not null check (delivered_wh >= 0),
      peak_w double precision not null,
      is_integrated integer not null check (is_integrated in (0, 1)),
      declared ${text} not null,
      need ${text} not null,
      primary key (tenant_uuid, controller_uuid, connector_id, arrived_at_ms, session_id)
    ) ${end}`,
    'create index charging_sessions_by_tenant on charging_sessions (tenant_uuid, left_at_ms)',
    'create index charging_sessions_by_location on charging_sessions (tenant_uuid, location_id, left_at_ms)',
    'alter table session_needs add column peak_w double precision',
    'alter table session_needs add column is_integrated integer',
  ];
}

/** The log of each tenant. An event without a key follows from a change that is never repeated. */
function events({ text, end }: Dialect): readonly string[] {
  return [
    `create table events (
      tenant_uuid ${text} not null,
      event_id bigint not null,
      event_key ${text},
      type ${text} not null,
      at_ms bigint not null,
      location_id ${text},
      controller_uuid ${text},
      connector_id ${text},
      caused_by ${text},
      data ${text} not null,
      primary key (tenant_uuid, event_id)
    ) ${end}`,
    'create unique index events_by_key on events (tenant_uuid, event_key) where event_key is not null',
    'create index events_by_location on events (tenant_uuid, location_id, event_id)',
  ];
}

/** A row per connector and day in the zone of its location; no foreign key, as above. */
function energyDays({ text, end }: Dialect): readonly string[] {
  return [
    `create table energy_days (
      tenant_uuid ${text} not null,
      day ${text} not null,
      location_id ${text} not null,
      controller_uuid ${text} not null,
      connector_id ${text} not null,
      starts_at_ms bigint not null,
      wh double precision not null,
      integrated_wh double precision not null,
      quarters ${text} not null,
      integrated_quarters ${text} not null,
      primary key (tenant_uuid, day, location_id, controller_uuid, connector_id, starts_at_ms)
    ) ${end}`,
  ];
}

/**
 * A row per connector and day in UTC; no foreign key, as above. Not in the order of the key: there SQLite would give
 * most of such rows, which are long, a page of their own beside it.
 */
function connectorPowerDays({ text }: Dialect): readonly string[] {
  return [
    `create table connector_power_days (
      tenant_uuid ${text} not null,
      day ${text} not null,
      controller_uuid ${text} not null,
      connector_id ${text} not null,
      minutes ${text} not null,
      primary key (tenant_uuid, day, controller_uuid, connector_id)
    )`,
  ];
}

function offlineChargers({ text, end }: Dialect): readonly string[] {
  return [
    `create table offline_chargers (
      tenant_uuid ${text} not null,
      controller_uuid ${text} not null,
      since_ms bigint not null,
      primary key (tenant_uuid, controller_uuid)
    ) ${end}`,
  ];
}

/** NULL means: not provisioned, or a count from before it was stored. */
const COLUMNS_OF_ENERGY = [
  ['locations', 'time_zone text'],
  ['session_needs', 'register_at_ms bigint'],
  ['session_needs', 'ahead_wh double precision'],
  ['session_needs', 'quarters text'],
] as const;

/** NULL means: from before it was counted. */
const SESSION_TIMES = ['session_needs', 'charging_sessions'].flatMap((table) => [
  [table, 'charging_ms double precision'] as const,
  [table, 'limited text'] as const,
]);

/** 1: Home Assistant finds the location. 0: it did once. NULL: never. */
const HOME_ASSISTANT: AddedColumns = [['locations', 'home_assistant integer']];

function readers({ text, end }: Dialect): readonly string[] {
  return [
    `create table readers (
      tenant_uuid ${text} not null,
      location_id ${text} not null,
      reader_uuid ${text} not null,
      mqtt_secret_hash ${text},
      primary key (tenant_uuid, location_id),
      foreign key (tenant_uuid, location_id) references locations
    ) ${end}`,
  ];
}

/** NULL in `submitted_by`: no event, because it is of the organization or from before they were logged. */
const PROFILE_EVENTS: AddedColumns = [
  ['profiles', 'submitted_by text'],
  ['profiles', 'cluster_id text'],
  ['tenants', 'forgotten_event_id bigint not null default 0'],
];

/** JSON lists; null without a receiver. */
const MAIL_RECEIVERS: AddedColumns = [
  ['webhook_lanes', 'settled_to text'],
  ['webhook_dead_letters', 'settled_to text'],
];

const ID_TAGS = ['session_needs', 'charging_sessions'].map((table) => [table, 'id_tag text'] as const);

function webhooks({ text, end }: Dialect): readonly string[] {
  const key = `tenant_uuid ${text} not null, webhook_id ${text} not null`;
  return [
    `create table webhooks (
      ${key},
      url ${text} not null,
      types ${text},
      location_ids ${text},
      secret ${text} not null,
      previous_secret ${text},
      previous_until_ms bigint,
      cursor_id bigint not null,
      created_at_ms bigint not null,
      created_by ${text} not null,
      updated_at_ms bigint not null,
      primary key (tenant_uuid, webhook_id)
    ) ${end}`,
    `create table webhook_lanes (
      ${key},
      location_id ${text} not null,
      after_id bigint not null,
      attempts integer not null,
      next_attempt_at_ms bigint not null,
      error ${text} not null,
      primary key (tenant_uuid, webhook_id, location_id)
    ) ${end}`,
    `create table webhook_dead_letters (
      ${key},
      event_id bigint not null,
      location_id ${text},
      attempts integer not null,
      died_at_ms bigint not null,
      error ${text} not null,
      next_attempt_at_ms bigint,
      tried_until_ms bigint,
      primary key (tenant_uuid, webhook_id, event_id)
    ) ${end}`,
  ];
}

/** Recorded answers of requests with an `Idempotency-Key`; no foreign key, as above. */
function answers({ text, end }: Dialect): readonly string[] {
  return [
    `create table answers (
      tenant_uuid ${text} not null,
      key_hash ${text} not null,
      request_hash ${text} not null,
      sealed ${text} not null,
      at_ms bigint not null,
      place bigint not null,
      primary key (tenant_uuid, key_hash)
    ) ${end}`,
    'create index answers_by_place on answers (tenant_uuid, place)',
    'create index answers_by_age on answers (at_ms)',
  ];
}

/** NULL means: not acknowledged, and not withheld. */
const COLUMNS_OF_ALARM_CARE = [
  ['alarms', 'acknowledged_at_ms bigint'],
  ['alarms', 'acknowledged_by text'],
  ['alarms', 'acknowledgement_note text'],
  ['alarms', 'is_withheld integer'],
] as const;

function alarmMutes({ text, end }: Dialect): readonly string[] {
  return [
    `create table alarm_mutes (
      tenant_uuid ${text} not null,
      location_id ${text} not null,
      kind ${text} not null,
      controller_uuid ${text} not null,
      connector_id ${text} not null,
      mute_id ${text} not null,
      until_ms bigint not null,
      note ${text},
      muted_at_ms bigint not null,
      muted_by ${text} not null,
      primary key (tenant_uuid, location_id, kind, controller_uuid, connector_id)
    ) ${end}`,
  ];
}

const SHARDS = 16;

/** The history of a credential: NULL in rows of release 0.1. */
const HISTORY_OF_CREDENTIALS = [
  'name text',
  'created_at_ms bigint',
  'created_by text',
  'last_used_at_ms bigint',
  'ended_by text',
];

/** Columns that release 0.2 adds, by table. NULL means: not provisioned, not known, or as release 0.1 had it. */
const COLUMNS_OF_02: readonly (readonly [table: string, columns: readonly string[]])[] = [
  [
    'power_minutes',
    [
      // NULL means "equal to the lowest limit", and "all measured".
      'mean_limit_w double precision',
      'estimated_w double precision',
      ...['mean', 'max'].flatMap((kind) =>
        ['l1', 'l2', 'l3'].map((phase) => `${kind}_${phase}_tenths_a integer`),
      ),
      'mean_building_w double precision',
      'max_building_w double precision',
      'mean_reserve_w double precision',
      'feeders text',
    ],
  ],
  [
    'owner',
    [
      // A start compares the id of the database and the number of commits with the last acknowledged commit.
      "database_id text not null default ''",
      'commits bigint not null default 0',
      'node_id text',
      'node_url text',
      'alive_until_ms bigint',
    ],
  ],
  // The reason at the begin of the alarm, if the present one differs.
  ['alarms', ['first_reason text']],
  ['locations', ['connection text', 'feeders text', 'peak_shaving text']],
  ['chargers', ['feeder text', 'heartbeat_ms integer', 'lease_ttl_ms integer']],
  [
    'connectors',
    [
      'rotation text',
      'direct_current text',
      'never_pause integer not null default 0',
      'operator_may_pause integer not null default 0',
    ],
  ],
  // NULL means "all phases".
  ['reservations', ['ttl_ms integer', 'phases integer']],
  ['api_keys', HISTORY_OF_CREDENTIALS],
  ['oauth_clients', [...HISTORY_OF_CREDENTIALS, 'expires_at_ms bigint']],
];

const RELEASE_02 = '0004-release-0.2';

/** In order. A name is stored in databases and never changes. */
const ALL: readonly NamedMigration[] = [
  {
    name: '0001-initial',
    up: (knex) => runAll(knex, release01(dialectOf(knex))),
    // Drops every table with all data.
    down: (knex) => dropTables(knex, release01(dialectOf(knex))),
  },
  // Release 0.1 recorded these by themselves. Their tables are part of `0001-initial` since.
  { name: '0002-owner', up: async () => {}, down: async () => {} },
  { name: '0003-enforcement', up: async () => {}, down: async () => {} },
  {
    name: RELEASE_02,
    async up(knex) {
      for (const [table, columns] of COLUMNS_OF_02)
        await runAll(
          knex,
          columns.map((column) => `alter table ${table} add column ${column}`),
        );
      await knex('owner').update({ database_id: randomUUID() });
      await runAll(knex, tablesOf02(dialectOf(knex)));
      for (let shard = 0; shard < SHARDS; shard++)
        await knex('shards').insert({ shard, epoch: 0, commits: 0 });
    },
    async down(knex) {
      await dropTables(knex, tablesOf02(dialectOf(knex)));
      for (const [table, columns] of COLUMNS_OF_02.toReversed())
        await runAll(
          knex,
          columns.toReversed().map((column) => `alter table ${table} drop column ${column.split(' ')[0]}`),
        );
    },
  },
  {
    name: '0025-departures',
    async up(knex) {
      await knex.raw('alter table locations add column policy text');
      await runAll(knex, departures(dialectOf(knex)));
    },
    async down(knex) {
      await dropTables(knex, departures(dialectOf(knex)));
      await knex.raw('alter table locations drop column policy');
    },
  },
  {
    name: '0026-departures-by-weekday',
    up: (knex) => runAll(knex, added(DEPARTURES_BY_WEEKDAY)),
    down: (knex) => runAll(knex, dropped(DEPARTURES_BY_WEEKDAY)),
  },
  {
    name: '0027-charging-sessions',
    up: (knex) => runAll(knex, chargingSessions(dialectOf(knex))),
    down: (knex) =>
      runAll(knex, [
        'drop table charging_sessions',
        'alter table session_needs drop column peak_w',
        'alter table session_needs drop column is_integrated',
      ]),
  },
  {
    name: '0028-events',
    up: (knex) => runAll(knex, events(dialectOf(knex))),
    down: (knex) => dropTables(knex, events(dialectOf(knex))),
  },
  {
    name: '0029-offline-chargers',
    up: (knex) => runAll(knex, offlineChargers(dialectOf(knex))),
    down: (knex) => dropTables(knex, offlineChargers(dialectOf(knex))),
  },
  {
    name: '0030-webhooks',
    up: (knex) => runAll(knex, webhooks(dialectOf(knex))),
    down: (knex) => dropTables(knex, webhooks(dialectOf(knex))),
  },
  {
    name: '0031-energy',
    async up(knex) {
      await runAll(knex, added(COLUMNS_OF_ENERGY));
      await runAll(knex, energyDays(dialectOf(knex)));
    },
    async down(knex) {
      await dropTables(knex, energyDays(dialectOf(knex)));
      await runAll(knex, dropped(COLUMNS_OF_ENERGY));
    },
  },
  {
    name: '0032-session-times',
    up: (knex) => runAll(knex, added(SESSION_TIMES)),
    down: (knex) => runAll(knex, dropped(SESSION_TIMES)),
  },
  {
    name: '0033-answers',
    up: (knex) => runAll(knex, answers(dialectOf(knex))),
    down: (knex) => dropTables(knex, answers(dialectOf(knex))),
  },
  {
    name: '0035-alarm-care',
    async up(knex) {
      await runAll(knex, added(COLUMNS_OF_ALARM_CARE));
      await runAll(knex, alarmMutes(dialectOf(knex)));
    },
    async down(knex) {
      await dropTables(knex, alarmMutes(dialectOf(knex)));
      await runAll(knex, dropped(COLUMNS_OF_ALARM_CARE));
    },
  },
  {
    name: '0036-mail-subscriptions',
    up: (knex) => runAll(knex, added([['webhooks', 'mail_to text']])),
    async down(knex) {
      const mails = knex('webhooks').whereNotNull('mail_to').select('webhook_id');
      for (const table of ['webhook_lanes', 'webhook_dead_letters'])
        await knex(table).whereIn('webhook_id', mails).delete();
      await knex('webhooks').whereNotNull('mail_to').delete();
      await runAll(knex, dropped([['webhooks', 'mail_to text']]));
    },
  },
  {
    name: '0038-id-tags',
    up: (knex) => runAll(knex, added(ID_TAGS)),
    down: (knex) => runAll(knex, dropped(ID_TAGS)),
  },
  {
    name: '0039-connector-power',
    up: (knex) => runAll(knex, connectorPowerDays(dialectOf(knex))),
    down: (knex) => dropTables(knex, connectorPowerDays(dialectOf(knex))),
  },
  {
    name: '0040-home-assistant',
    async up(knex) {
      await runAll(knex, added(HOME_ASSISTANT));
      await runAll(knex, readers(dialectOf(knex)));
    },
    async down(knex) {
      await dropTables(knex, readers(dialectOf(knex)));
      await runAll(knex, dropped(HOME_ASSISTANT));
    },
  },
  {
    name: '0041-profile-events',
    up: (knex) => runAll(knex, added(PROFILE_EVENTS)),
    async down(knex) {
      // The sequence of PostgreSQL stood still meanwhile.
      if (engineOf(knex) === 'postgres')
        await knex.raw(
          `select setval(pg_get_serial_sequence('profiles', 'submission'), max(submission)) from profiles`,
        );
      await runAll(knex, dropped(PROFILE_EVENTS));
    },
  },
  {
    name: '0042-mail-receivers',
    up: (knex) => runAll(knex, added(MAIL_RECEIVERS)),
    down: (knex) => runAll(knex, dropped(MAIL_RECEIVERS)),
  },
];

/** Records the names of migrations that ran. */
export const MIGRATIONS_TABLE = 'migrations';

export const MIGRATIONS: Knex.MigrationSource<NamedMigration> = {
  getMigrations: async () => [...ALL],
  getMigrationName: (migration) => migration.name,
  getMigration: async (migration) => migration,
};

/** The steps between the releases were recorded one by one, up to this one. */
const LAST_UNRELEASED = '0024-credential-history';

/** Records the schema of the last state between releases 0.1 and 0.2 as that of release 0.2, to which it is equal. */
export async function joinUnreleased(knex: Knex): Promise<void> {
  if (!(await knex.schema.hasTable(MIGRATIONS_TABLE))) return;
  const last = await knex(MIGRATIONS_TABLE).where({ name: LAST_UNRELEASED }).first('batch', 'migration_time');
  if (last === undefined) return;
  await knex(MIGRATIONS_TABLE).whereBetween('name', ['0004', LAST_UNRELEASED]).delete();
  await knex(MIGRATIONS_TABLE).insert({ ...last, name: RELEASE_02 });
}
