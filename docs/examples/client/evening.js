// Halves the limit of each location for an hour, then prints each change of power and limit.
// HEADROOM_URL=http://127.0.0.1:8080 HEADROOM_KEY=hr_… node evening.js
import { createHeadroom, HeadroomError } from 'headroom/client';

const { HEADROOM_URL: url = 'http://127.0.0.1:8080', HEADROOM_KEY: apiKey = '' } = process.env;
const headroom = createHeadroom({ url, apiKey });

const startTime = new Date().toISOString();
const endTime = new Date(Date.now() + 3_600_000).toISOString();

for await (const { locations } of headroom.pages('/v1/locations')) {
  for (const { locationId, permanentLimitKw } of locations) {
    try {
      const { effectiveLimitKw } = await headroom.post('/v1/locations/{locationId}/schedules', {
        path: { locationId },
        body: { priority: 5, limitKw: permanentLimitKw / 2, startTime, endTime },
      });
      console.log(`${locationId} has ${effectiveLimitKw} kW until ${endTime}`);
    } catch (error) {
      if (!(error instanceof HeadroomError && error.code === 'TARGET_INACTIVE')) throw error;
      console.log(`${locationId} is inactive`);
    }
  }
}

for await (const item of headroom.stream()) {
  if (item.event === 'power') console.log(`${item.data.locationId} draws ${item.data.actualKw} kW`);
  if (item.event === 'gridLimit') console.log(`${item.data.locationId} has ${item.data.gridLimitKw} kW`);
}
