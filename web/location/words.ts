// Texts for the codes of a location: the cause of its limit, and the reason of each connector's limit.
import type { AlarmKind, LimitReason } from '../../machines/ledger/grant.js';
import type { GridLimitCause } from '../../src/wire/limit-cause.js';
import { localText } from '../ui/time.js';

/** Cause of the limit in force as a sentence; `clusterName` names the cluster if its share is the cause. */
export function causeSentence(cause: GridLimitCause, clusterName: string): string {
  switch (cause.kind) {
    case 'permanentLimit':
      return 'No profile is active: the permanent limit applies.';
    case 'profile':
      return `The profile of priority ${cause.priority} applies. It ends at ${localText(cause.endTime, true)}.`;
    case 'clusterShare':
      return `The location's share of the cluster ${clusterName} is below its effective limit.`;
    case 'operatorLimit':
      return 'The grid operator limits the location.';
    case 'peakShaving':
      return 'Peak shaving limits the location: the rest of the average that the tariff bills.';
    case 'building':
      return 'The building limits the location: the rest of the physical connection.';
    case 'physicalConnection':
      return 'The physical connection of the location allows no more.';
  }
}

export const REASON_WORDS: Readonly<Record<LimitReason, string>> = {
  maximum: 'Maximum',
  demand: 'Full demand',
  fairShare: 'Fair share',
  clusterShare: 'Cluster share',
  departure: 'By departure',
  waiting: 'More soon',
  paused: 'Waits its turn',
  lock: 'Lock',
  minimumPause: 'Paused moments ago',
  lastResort: 'Lock lowered',
  idle: 'No car',
  failsafe: 'Fail-safe',
  nonCompliant: 'Exceeds its limit',
  readOnly: 'Takes no limits',
  reserved: 'Unavoidable reserve',
};

export const ALARM_WORDS: Readonly<Record<AlarmKind, string>> = {
  LIMIT_UNATTAINABLE: 'Limit cannot be kept',
  NON_COMPLIANT: 'Exceeds its limit',
  OFFLINE: 'Offline',
  STALE: 'Silent',
  SITE_METER_STALE: 'Site meter silent',
  SITE_METER_IMPLAUSIBLE: 'Site meter implausible',
  NO_LEASE: 'Keeps no lease',
  DEPARTURE_AT_RISK: 'Not ready at departure',
};
