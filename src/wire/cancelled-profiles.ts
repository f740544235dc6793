// Answers to a cancellation: the profile as it ended. An extension of the contract.
import { z } from 'zod';
import {
  connectorScheduleSchema,
  instantSchema,
  locationScheduleSchema,
  organizationScheduleSchema,
  prioritySchema,
  profileStatusSchema,
} from './rest.js';

const ending = {
  status: profileStatusSchema.meta({
    description: 'Status at its cancellation: SCHEDULED or ACTIVE.',
  }),
  supersededAt: instantSchema.meta({ description: 'Instant of its cancellation.' }),
};

export const cancelledLocationScheduleSchema = z
  .object({ ...locationScheduleSchema.shape, ...ending })
  .meta({ id: 'CancelledLocationSchedule' });
export type CancelledLocationSchedule = z.output<typeof cancelledLocationScheduleSchema>;

export const cancelledConnectorScheduleSchema = z
  .object({ ...connectorScheduleSchema.shape, priority: prioritySchema, ...ending })
  .meta({ id: 'CancelledConnectorSchedule' });
export type CancelledConnectorSchedule = z.output<typeof cancelledConnectorScheduleSchema>;

export const cancelledOrganizationScheduleSchema = z
  .object({ ...organizationScheduleSchema.shape, ...ending })
  .meta({ id: 'CancelledOrganizationSchedule' });
export type CancelledOrganizationSchedule = z.output<typeof cancelledOrganizationScheduleSchema>;
