// Generated from the OpenAPI document by `npm run client:types`. Changes by hand are lost.
export interface paths {
    "/v1/chargers/{controllerUuid}/connectors/{connectorId}/schedules": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read the profiles of a connector
         * @description Needs the scope `locations:read`.
         */
        get: {
            parameters: {
                query?: {
                    /** @description Extension: the answer as of this instant, from profiles submitted by then, and not replaced or cancelled. Without it, now. */
                    at?: components["schemas"]["Instant"];
                };
                header?: never;
                path: {
                    controllerUuid: string;
                    connectorId: string;
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description Read the profiles of a connector */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ConnectorSchedules"];
                    };
                };
            };
        };
        put?: never;
        /**
         * Lock a connector at a limit for a time window
         * @description Needs the scope `chargers:write`.
         */
        post: {
            parameters: {
                query?: never;
                header?: {
                    /** @description A new random text for each new request, in quotes. A repeated request gets the first answer for 24 hours (draft-ietf-httpapi-idempotency-key-header). */
                    "Idempotency-Key"?: string;
                };
                path: {
                    controllerUuid: string;
                    connectorId: string;
                };
                cookie?: never;
            };
            requestBody: {
                content: {
                    "application/json": components["schemas"]["LimitProfileRequest"];
                };
            };
            responses: {
                /** @description Lock a connector at a limit for a time window */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ConnectorSchedule"];
                    };
                };
            };
        };
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/locations/{locationId}/schedules": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Limit a location for a time window
         * @description Needs the scope `locations:write`.
         */
        post: {
            parameters: {
                query?: never;
                header?: {
                    /** @description A new random text for each new request, in quotes. A repeated request gets the first answer for 24 hours (draft-ietf-httpapi-idempotency-key-header). */
                    "Idempotency-Key"?: string;
                };
                path: {
                    locationId: string;
                };
                cookie?: never;
            };
            requestBody: {
                content: {
                    "application/json": components["schemas"]["LimitProfileRequest"];
                };
            };
            responses: {
                /** @description Limit a location for a time window */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["LocationSchedule"];
                    };
                };
            };
        };
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/locations/{locationId}/limit": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        /**
         * Set the permanent limit of a location
         * @description Needs the scope `locations:write`.
         */
        put: {
            parameters: {
                query?: never;
                header?: {
                    /** @description A new random text for each new request, in quotes. A repeated request gets the first answer for 24 hours (draft-ietf-httpapi-idempotency-key-header). */
                    "Idempotency-Key"?: string;
                };
                path: {
                    locationId: string;
                };
                cookie?: never;
            };
            requestBody: {
                content: {
                    "application/json": components["schemas"]["PermanentLimitRequest"];
                };
            };
            responses: {
                /** @description Set the permanent limit of a location */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["PermanentLimit"];
                    };
                };
            };
        };
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/locations/{locationId}/limits": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read the limits and profiles of a location
         * @description Needs the scope `locations:read`.
         */
        get: {
            parameters: {
                query?: {
                    /** @description Extension: the answer as of this instant, from profiles submitted by then, and not replaced or cancelled. Without it, now. */
                    at?: components["schemas"]["Instant"];
                };
                header?: never;
                path: {
                    locationId: string;
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description Read the limits and profiles of a location */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["LocationLimits"];
                    };
                };
            };
        };
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/organizations/schedules": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Record a limit for the whole organization (not enforced)
         * @description Needs the scope `org:write`.
         */
        post: {
            parameters: {
                query?: never;
                header?: {
                    /** @description A new random text for each new request, in quotes. A repeated request gets the first answer for 24 hours (draft-ietf-httpapi-idempotency-key-header). */
                    "Idempotency-Key"?: string;
                };
                path?: never;
                cookie?: never;
            };
            requestBody: {
                content: {
                    "application/json": components["schemas"]["LimitProfileRequest"];
                };
            };
            responses: {
                /** @description Record a limit for the whole organization (not enforced) */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["OrganizationSchedule"];
                    };
                };
            };
        };
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/organizations/limits": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read the recorded limits of the organization
         * @description Needs the scope `org:write`.
         */
        get: {
            parameters: {
                query?: {
                    /** @description Extension: the answer as of this instant, from profiles submitted by then, and not replaced or cancelled. Without it, now. */
                    at?: components["schemas"]["Instant"];
                };
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description Read the recorded limits of the organization */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["OrganizationLimits"];
                    };
                };
            };
        };
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/clusters": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the clusters, newest first
         * @description Needs the scope `clusters:read`.
         */
        get: {
            parameters: {
                query?: never;
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description List the clusters, newest first */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ClusterList"];
                    };
                };
            };
        };
        put?: never;
        /**
         * Group locations under one optional cap
         * @description Needs the scope `clusters:write`.
         */
        post: {
            parameters: {
                query?: never;
                header?: {
                    /** @description A new random text for each new request, in quotes. A repeated request gets the first answer for 24 hours (draft-ietf-httpapi-idempotency-key-header). */
                    "Idempotency-Key"?: string;
                };
                path?: never;
                cookie?: never;
            };
            requestBody: {
                content: {
                    "application/json": components["schemas"]["CreateClusterRequest"];
                };
            };
            responses: {
                /** @description Group locations under one optional cap */
                201: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Cluster"];
                    };
                };
            };
        };
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/clusters/{clusterId}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read a cluster with its live status
         * @description Needs the scope `clusters:read`.
         */
        get: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    clusterId: string;
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description Read a cluster with its live status */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ClusterDetail"];
                    };
                };
            };
        };
        put?: never;
        post?: never;
        /**
         * Delete a cluster; its locations stay
         * @description Needs the scope `clusters:write`.
         */
        delete: {
            parameters: {
                query?: never;
                header?: {
                    /** @description The ETag that was read: a change since then is answered with 412 (RFC 9110). */
                    "If-Match"?: string;
                };
                path: {
                    clusterId: string;
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description Delete a cluster; its locations stay */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ClusterDeleted"];
                    };
                };
            };
        };
        options?: never;
        head?: never;
        /**
         * Change the supplied fields of a cluster
         * @description Needs the scope `clusters:write`.
         */
        patch: {
            parameters: {
                query?: never;
                header?: {
                    /** @description The ETag that was read: a change since then is answered with 412 (RFC 9110). */
                    "If-Match"?: string;
                };
                path: {
                    clusterId: string;
                };
                cookie?: never;
            };
            requestBody: {
                content: {
                    "application/json": components["schemas"]["UpdateClusterRequest"];
                };
            };
            responses: {
                /** @description Change the supplied fields of a cluster */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Cluster"];
                    };
                };
            };
        };
        trace?: never;
    };
    "/v1/clusters/{clusterId}/locations/{locationId}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /**
         * Remove one location from a cluster
         * @description Needs the scope `clusters:write`.
         */
        delete: {
            parameters: {
                query?: never;
                header?: {
                    /** @description The ETag that was read: a change since then is answered with 412 (RFC 9110). */
                    "If-Match"?: string;
                };
                path: {
                    clusterId: string;
                    locationId: string;
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description Remove one location from a cluster */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Cluster"];
                    };
                };
            };
        };
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/clusters/{clusterId}/schedules": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Limit every member location for a time window
         * @description Needs the scope `clusters:write`.
         */
        post: {
            parameters: {
                query?: never;
                header?: {
                    /** @description A new random text for each new request, in quotes. A repeated request gets the first answer for 24 hours (draft-ietf-httpapi-idempotency-key-header). */
                    "Idempotency-Key"?: string;
                };
                path: {
                    clusterId: string;
                };
                cookie?: never;
            };
            requestBody: {
                content: {
                    "application/json": components["schemas"]["LimitProfileRequest"];
                };
            };
            responses: {
                /** @description Limit every member location for a time window */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ClusterSchedule"];
                    };
                };
            };
        };
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/locations": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the locations with their present state
         * @description Needs the scope `locations:read`.
         */
        get: {
            parameters: {
                query?: {
                    /** @description Highest number of rows. */
                    limit?: number;
                    /** @description `nextCursor` of the page before; without it, the first page. */
                    cursor?: string;
                };
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description List the locations with their present state */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["LocationList"];
                    };
                };
            };
        };
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/locations/{locationId}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read one location of that list
         * @description Needs the scope `locations:read`.
         */
        get: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    locationId: string;
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description Read one location of that list */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["LocationSummary"];
                    };
                };
            };
        };
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/locations/{locationId}/live": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read limits, power and reasons of a location, connector by connector
         * @description Needs the scope `locations:read`.
         */
        get: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    locationId: string;
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description Read limits, power and reasons of a location, connector by connector */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["LocationLive"];
                    };
                };
            };
        };
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/locations/{locationId}/timeline": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read the limits in force of a location over time, with their causes
         * @description Needs the scope `locations:read`.
         */
        get: {
            parameters: {
                query?: {
                    /** @description First instant (inclusive). */
                    from?: components["schemas"]["Instant"];
                    /** @description End (exclusive); after from. */
                    to?: components["schemas"]["Instant"];
                    /** @description Try a profile with this limit, kW. Needs `withStartTime` and `withEndTime`; nothing is written. */
                    withLimitKw?: number;
                    /** @description First instant of the profile to try. */
                    withStartTime?: components["schemas"]["Instant"];
                    /** @description End of the profile to try; after `withStartTime` and in the future. */
                    withEndTime?: components["schemas"]["Instant"];
                    /** @description Priority of the profile to try; 0 if left out. */
                    withPriority?: number;
                    /** @description Try the location without its profile of this priority; nothing is written. */
                    withoutPriority?: number;
                    /** @description Try this permanent limit, kW; nothing is written. */
                    withPermanentLimitKw?: number;
                };
                header?: never;
                path: {
                    locationId: string;
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description Read the limits in force of a location over time, with their causes */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["LocationTimeline"];
                    };
                };
            };
        };
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/locations/{locationId}/history": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List every limit ever submitted for a location
         * @description Needs the scope `locations:read`.
         */
        get: {
            parameters: {
                query?: {
                    /** @description First instant (inclusive). Left out: from the first entry on. */
                    from?: components["schemas"]["Instant"];
                    /** @description End (exclusive); after from. Left out: no end, with windows in the future. */
                    to?: components["schemas"]["Instant"];
                    /** @description Highest number of rows. */
                    limit?: number;
                    /** @description `nextCursor` of the page before; without it, the first page. */
                    cursor?: string;
                };
                header?: never;
                path: {
                    locationId: string;
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description List every limit ever submitted for a location */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["LocationHistory"];
                    };
                };
            };
        };
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/locations/{locationId}/power": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read the measured power of a location, with its limit in force
         * @description Needs the scope `locations:read`.
         */
        get: {
            parameters: {
                query?: {
                    /** @description First instant (inclusive). */
                    from?: components["schemas"]["Instant"];
                    /** @description End (exclusive); after from. */
                    to?: components["schemas"]["Instant"];
                    /** @description Seconds that one point covers: whole minutes. */
                    step?: number;
                    /** @description Name of a feeder of the location: `phases` are the currents through it. Left out: those of all chargers. */
                    feeder?: string;
                };
                header?: never;
                path: {
                    locationId: string;
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description Read the measured power of a location, with its limit in force */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["LocationPower"];
                    };
                };
            };
        };
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/locations/{locationId}/plan": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read the predicted power of a location until its last declared departure
         * @description Needs the scope `locations:read`.
         */
        get: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    locationId: string;
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description Read the predicted power of a location until its last declared departure */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["DeparturePlan"];
                    };
                };
            };
        };
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/locations/{locationId}/alarms": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the alarms of a location, newest first
         * @description Needs the scope `locations:read`.
         */
        get: {
            parameters: {
                query?: {
                    /** @description First instant (inclusive). */
                    from?: components["schemas"]["Instant"];
                    /** @description End (exclusive); after from. */
                    to?: components["schemas"]["Instant"];
                    /** @description Highest number of rows. */
                    limit?: number;
                    /** @description `nextCursor` of the page before; without it, the first page. */
                    cursor?: string;
                };
                header?: never;
                path: {
                    locationId: string;
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description List the alarms of a location, newest first */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["AlarmList"];
                    };
                };
            };
        };
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/alarms": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the alarms of all locations, newest first
         * @description Needs the scope `locations:read`.
         */
        get: {
            parameters: {
                query?: {
                    /** @description First instant (inclusive). */
                    from?: components["schemas"]["Instant"];
                    /** @description End (exclusive); after from. */
                    to?: components["schemas"]["Instant"];
                    /** @description Highest number of rows. */
                    limit?: number;
                    /** @description `nextCursor` of the page before; without it, the first page. */
                    cursor?: string;
                };
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description List the alarms of all locations, newest first */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["AlarmList"];
                    };
                };
            };
        };
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/locations/{locationId}/alarms/{alarmId}/acknowledgement": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        /**
         * Acknowledge an open alarm
         * @description Needs the scope `locations:write`.
         */
        put: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    locationId: string;
                    alarmId: string;
                };
                cookie?: never;
            };
            requestBody: {
                content: {
                    "application/json": components["schemas"]["AcknowledgeAlarmRequest"];
                };
            };
            responses: {
                /** @description Acknowledge an open alarm */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Alarm"];
                    };
                };
            };
        };
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/locations/{locationId}/alarm-mutes": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the mutes of a location, the first to end first
         * @description Needs the scope `locations:read`.
         */
        get: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    locationId: string;
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description List the mutes of a location, the first to end first */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["AlarmMuteList"];
                    };
                };
            };
        };
        put?: never;
        /**
         * Withhold alarms of a kind from webhooks and mails until an instant
         * @description Needs the scope `locations:write`.
         */
        post: {
            parameters: {
                query?: never;
                header?: {
                    /** @description A new random text for each new request, in quotes. A repeated request gets the first answer for 24 hours (draft-ietf-httpapi-idempotency-key-header). */
                    "Idempotency-Key"?: string;
                };
                path: {
                    locationId: string;
                };
                cookie?: never;
            };
            requestBody: {
                content: {
                    "application/json": components["schemas"]["MuteAlarmsRequest"];
                };
            };
            responses: {
                /** @description Withhold alarms of a kind from webhooks and mails until an instant */
                201: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["AlarmMute"];
                    };
                };
            };
        };
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/locations/{locationId}/alarm-mutes/{muteId}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /**
         * Withdraw a mute; webhooks and mails receive the open alarms that it withheld
         * @description Needs the scope `locations:write`.
         */
        delete: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    locationId: string;
                    muteId: string;
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description Withdraw a mute; webhooks and mails receive the open alarms that it withheld */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["AlarmMuteDeleted"];
                    };
                };
            };
        };
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/sessions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the charging sessions that ended in a span of time, newest first
         * @description Needs the scope `locations:read`.
         */
        get: {
            parameters: {
                query?: {
                    /** @description First instant (inclusive). */
                    from?: components["schemas"]["Instant"];
                    /** @description End (exclusive); after from. */
                    to?: components["schemas"]["Instant"];
                    /** @description Highest number of rows. */
                    limit?: number;
                    /** @description `nextCursor` of the page before; without it, the first page. */
                    cursor?: string;
                    /** @description Sessions of this location alone. Left out: of all locations. */
                    locationId?: string;
                    /** @description With `connectorId`: sessions of this connector alone. */
                    controllerUuid?: string;
                    /** @description A connector of `controllerUuid`. */
                    connectorId?: string;
                };
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description List the charging sessions that ended in a span of time, newest first */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["SessionList"];
                        "text/csv": components["schemas"]["SessionListCsv"];
                    };
                };
            };
        };
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/energy": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read the energy of connectors, locations, clusters or all by quarter-hour, day or month
         * @description Needs the scope `locations:read`.
         */
        get: {
            parameters: {
                query?: {
                    /** @description First date (inclusive), with `quarterHour` the first instant. Left out: 31 days before `to`; a year for months, a day for quarter-hours. */
                    from?: string | components["schemas"]["Instant"];
                    /** @description End (exclusive). Left out: with the present period. */
                    to?: string | components["schemas"]["Instant"];
                    /** @description Length of a period. Days begin at midnight in the time zone of their location. */
                    resolution?: "quarterHour" | "day" | "month";
                    /** @description A cluster sums its present members. */
                    groupBy?: "connector" | "location" | "cluster" | "tenant";
                    /** @description Energy at this location alone. Left out: at all. */
                    locationId?: string;
                    /** @description With `connectorId`: energy of this connector alone. */
                    controllerUuid?: string;
                    /** @description A connector of `controllerUuid`. */
                    connectorId?: string;
                    /** @description Highest number of rows. */
                    limit?: number;
                    /** @description `nextCursor` of the page before; without it, the first page. */
                    cursor?: string;
                };
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description Read the energy of connectors, locations, clusters or all by quarter-hour, day or month */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["EnergyList"];
                        "text/csv": components["schemas"]["EnergyListCsv"];
                    };
                };
            };
        };
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/events": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read the event log from an id on, and wait for the next event
         * @description Needs the scope `locations:read`.
         */
        get: {
            parameters: {
                query?: {
                    /** @description Events after the one with this id. Left out: from the oldest kept one on. */
                    after?: string;
                    /** @description Types, separated by commas. Left out: all. */
                    type?: string;
                    /** @description Events of this location alone. Left out: of the whole organization. */
                    locationId?: string;
                    /** @description Highest number of events. */
                    limit?: number;
                    /** @description Seconds that the answer waits for an event if there is none yet. */
                    waitS?: number;
                };
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description Read the event log from an id on, and wait for the next event */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["EventPage"];
                    };
                };
            };
        };
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/chargers/{controllerUuid}/connectors/{connectorId}/history": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List every profile ever submitted for a connector
         * @description Needs the scope `locations:read`.
         */
        get: {
            parameters: {
                query?: {
                    /** @description First instant (inclusive). Left out: from the first entry on. */
                    from?: components["schemas"]["Instant"];
                    /** @description End (exclusive); after from. Left out: no end, with windows in the future. */
                    to?: components["schemas"]["Instant"];
                    /** @description Highest number of rows. */
                    limit?: number;
                    /** @description `nextCursor` of the page before; without it, the first page. */
                    cursor?: string;
                };
                header?: never;
                path: {
                    controllerUuid: string;
                    connectorId: string;
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description List every profile ever submitted for a connector */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ConnectorHistory"];
                    };
                };
            };
        };
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/chargers/{controllerUuid}/connectors/{connectorId}/power": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read the measured power of a connector, with its limit
         * @description Needs the scope `locations:read`.
         */
        get: {
            parameters: {
                query?: {
                    /** @description First instant (inclusive). */
                    from?: components["schemas"]["Instant"];
                    /** @description End (exclusive); after from. */
                    to?: components["schemas"]["Instant"];
                    /** @description Seconds that one point covers: whole minutes. */
                    step?: number;
                    /** @description Highest number of rows. */
                    limit?: number;
                    /** @description `nextCursor` of the page before; without it, the first page. */
                    cursor?: string;
                };
                header?: never;
                path: {
                    controllerUuid: string;
                    connectorId: string;
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description Read the measured power of a connector, with its limit */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ConnectorPower"];
                        "text/csv": components["schemas"]["ConnectorPowerCsv"];
                    };
                };
            };
        };
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/chargers/{controllerUuid}/connectors/{connectorId}/session": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read the needs and the energy of the car at a connector
         * @description Needs the scope `locations:read`.
         */
        get: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    controllerUuid: string;
                    connectorId: string;
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description Read the needs and the energy of the car at a connector */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ChargingSession"];
                    };
                };
            };
        };
        /**
         * Declare the departure and the needs of the car at a connector
         * @description Needs the scope `chargers:write`.
         */
        put: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    controllerUuid: string;
                    connectorId: string;
                };
                cookie?: never;
            };
            requestBody: {
                content: {
                    "application/json": components["schemas"]["ChargingPreferences"];
                };
            };
            responses: {
                /** @description Declare the departure and the needs of the car at a connector */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ChargingSession"];
                    };
                };
            };
        };
        post?: never;
        /**
         * Withdraw the needs that were declared over REST
         * @description Needs the scope `chargers:write`.
         */
        delete: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    controllerUuid: string;
                    connectorId: string;
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description Withdraw the needs that were declared over REST */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ChargingSession"];
                    };
                };
            };
        };
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/organizations/history": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List every limit ever recorded for the organization
         * @description Needs the scope `org:write`.
         */
        get: {
            parameters: {
                query?: {
                    /** @description First instant (inclusive). Left out: from the first entry on. */
                    from?: components["schemas"]["Instant"];
                    /** @description End (exclusive); after from. Left out: no end, with windows in the future. */
                    to?: components["schemas"]["Instant"];
                    /** @description Highest number of rows. */
                    limit?: number;
                    /** @description `nextCursor` of the page before; without it, the first page. */
                    cursor?: string;
                };
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description List every limit ever recorded for the organization */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["OrganizationHistory"];
                    };
                };
            };
        };
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/locations/{locationId}/operator-limit": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read the state of the grid operator's limit of a location
         * @description Needs the scope `locations:read`.
         */
        get: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    locationId: string;
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description Read the state of the grid operator's limit of a location */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["OperatorLimit"];
                    };
                };
            };
        };
        /**
         * As the grid operator: limit a location, end the limit, or send a heartbeat
         * @description Needs the scope `operator:write`.
         */
        put: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    locationId: string;
                };
                cookie?: never;
            };
            requestBody: {
                content: {
                    "application/json": components["schemas"]["OperatorLimitRequest"];
                };
            };
            responses: {
                /** @description As the grid operator: limit a location, end the limit, or send a heartbeat */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["OperatorLimit"];
                    };
                };
            };
        };
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/locations/{locationId}/operator-limit/history": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List every state of the grid operator's limit of a location
         * @description Needs the scope `locations:read`.
         */
        get: {
            parameters: {
                query?: {
                    /** @description First instant (inclusive). Left out: from the first entry on. */
                    from?: components["schemas"]["Instant"];
                    /** @description End (exclusive); after from. Left out: no end, with windows in the future. */
                    to?: components["schemas"]["Instant"];
                    /** @description Highest number of rows. */
                    limit?: number;
                    /** @description `nextCursor` of the page before; without it, the first page. */
                    cursor?: string;
                };
                header?: never;
                path: {
                    locationId: string;
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description List every state of the grid operator's limit of a location */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["OperatorHistory"];
                    };
                };
            };
        };
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/locations/{locationId}/site-meter": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read the meter of a location, and the power that the building leaves for chargers
         * @description Needs the scope `locations:read`.
         */
        get: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    locationId: string;
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description Read the meter of a location, and the power that the building leaves for chargers */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["SiteMeter"];
                    };
                };
            };
        };
        /**
         * As the meter of a location: send a reading
         * @description Needs the scope `meter:write`.
         */
        put: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    locationId: string;
                };
                cookie?: never;
            };
            requestBody: {
                content: {
                    "application/json": components["schemas"]["SiteMeterReading"];
                };
            };
            responses: {
                /** @description As the meter of a location: send a reading */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["SiteMeter"];
                    };
                };
            };
        };
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/chargers/{controllerUuid}/connectors/{connectorId}/schedules/{priority}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /**
         * Cancel a profile of a connector, which unlocks it at once
         * @description Needs the scope `chargers:write`.
         */
        delete: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    controllerUuid: string;
                    connectorId: string;
                    /** @description 0 (lowest) to 10 (highest). */
                    priority: number;
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description Cancel a profile of a connector, which unlocks it at once */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["CancelledConnectorSchedule"];
                    };
                };
            };
        };
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/locations/{locationId}/schedules/{priority}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /**
         * Cancel a profile of a location, which is rolled back at once
         * @description Needs the scope `locations:write`.
         */
        delete: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    locationId: string;
                    /** @description 0 (lowest) to 10 (highest). */
                    priority: number;
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description Cancel a profile of a location, which is rolled back at once */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["CancelledLocationSchedule"];
                    };
                };
            };
        };
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/organizations/schedules/{priority}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /**
         * Cancel a recorded profile of the organization
         * @description Needs the scope `org:write`.
         */
        delete: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    /** @description 0 (lowest) to 10 (highest). */
                    priority: number;
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description Cancel a recorded profile of the organization */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["CancelledOrganizationSchedule"];
                    };
                };
            };
        };
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/webhooks": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the webhooks, the oldest first, without their secrets
         * @description Needs the scope `credentials:write`.
         */
        get: {
            parameters: {
                query?: never;
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description List the webhooks, the oldest first, without their secrets */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["WebhookList"];
                    };
                };
            };
        };
        put?: never;
        /**
         * Send the events of the log to a URL; only this answer has the secret that signs them
         * @description Needs the scope `credentials:write`.
         */
        post: {
            parameters: {
                query?: never;
                header?: {
                    /** @description A new random text for each new request, in quotes. A repeated request gets the first answer for 24 hours (draft-ietf-httpapi-idempotency-key-header). */
                    "Idempotency-Key"?: string;
                };
                path?: never;
                cookie?: never;
            };
            requestBody: {
                content: {
                    "application/json": components["schemas"]["CreateWebhookRequest"];
                };
            };
            responses: {
                /** @description Send the events of the log to a URL; only this answer has the secret that signs them */
                201: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["IssuedWebhook"];
                    };
                };
            };
        };
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/webhooks/{webhookId}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read a webhook and its place in the event log
         * @description Needs the scope `credentials:write`.
         */
        get: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    webhookId: string;
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description Read a webhook and its place in the event log */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Webhook"];
                    };
                };
            };
        };
        /**
         * Replace the URL and the filter of a webhook, which goes on in its place
         * @description Needs the scope `credentials:write`.
         */
        put: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    webhookId: string;
                };
                cookie?: never;
            };
            requestBody: {
                content: {
                    "application/json": components["schemas"]["WebhookRequest"];
                };
            };
            responses: {
                /** @description Replace the URL and the filter of a webhook, which goes on in its place */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Webhook"];
                    };
                };
            };
        };
        post?: never;
        /**
         * Delete a webhook with its dead letters
         * @description Needs the scope `credentials:write`.
         */
        delete: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    webhookId: string;
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description Delete a webhook with its dead letters */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["WebhookDeleted"];
                    };
                };
            };
        };
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/webhooks/{webhookId}/secret": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Sign with a new secret, and for a while with the one before too
         * @description Needs the scope `credentials:write`.
         */
        post: {
            parameters: {
                query?: never;
                header?: {
                    /** @description A new random text for each new request, in quotes. A repeated request gets the first answer for 24 hours (draft-ietf-httpapi-idempotency-key-header). */
                    "Idempotency-Key"?: string;
                };
                path: {
                    webhookId: string;
                };
                cookie?: never;
            };
            requestBody: {
                content: {
                    "application/json": components["schemas"]["RotateWebhookSecretRequest"];
                };
            };
            responses: {
                /** @description Sign with a new secret, and for a while with the one before too */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["IssuedWebhook"];
                    };
                };
            };
        };
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/webhooks/{webhookId}/deliveries": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the events that were given up, or that are sent again later
         * @description Needs the scope `credentials:write`.
         */
        get: {
            parameters: {
                query?: {
                    /** @description `dead`: given up. `waiting`: failed, and sent again later. */
                    state?: "dead" | "waiting";
                    /** @description Of events after the one with this id. */
                    after?: string;
                    /** @description Highest number of rows. */
                    limit?: number;
                };
                header?: never;
                path: {
                    webhookId: string;
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description List the events that were given up, or that are sent again later */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["WebhookDeliveryList"];
                    };
                };
            };
        };
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/webhooks/{webhookId}/replay": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Send dead letters again, and list all that are under way
         * @description Needs the scope `credentials:write`.
         */
        post: {
            parameters: {
                query?: never;
                header?: {
                    /** @description A new random text for each new request, in quotes. A repeated request gets the first answer for 24 hours (draft-ietf-httpapi-idempotency-key-header). */
                    "Idempotency-Key"?: string;
                };
                path: {
                    webhookId: string;
                };
                cookie?: never;
            };
            requestBody: {
                content: {
                    "application/json": components["schemas"]["ReplayRequest"];
                };
            };
            responses: {
                /** @description Send dead letters again, and list all that are under way */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["WebhookDeliveryList"];
                    };
                };
            };
        };
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/mail-subscriptions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the mail subscriptions, the oldest first
         * @description Needs the scope `credentials:write`.
         */
        get: {
            parameters: {
                query?: never;
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description List the mail subscriptions, the oldest first */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["MailSubscriptionList"];
                    };
                };
            };
        };
        put?: never;
        /**
         * Send the events of the log from now on as mails; events of half a minute share one
         * @description Needs the scope `credentials:write`.
         */
        post: {
            parameters: {
                query?: never;
                header?: {
                    /** @description A new random text for each new request, in quotes. A repeated request gets the first answer for 24 hours (draft-ietf-httpapi-idempotency-key-header). */
                    "Idempotency-Key"?: string;
                };
                path?: never;
                cookie?: never;
            };
            requestBody: {
                content: {
                    "application/json": components["schemas"]["MailSubscriptionRequest"];
                };
            };
            responses: {
                /** @description Send the events of the log from now on as mails; events of half a minute share one */
                201: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["MailSubscription"];
                    };
                };
            };
        };
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/mail-subscriptions/{mailSubscriptionId}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read a mail subscription and its place in the event log
         * @description Needs the scope `credentials:write`.
         */
        get: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    mailSubscriptionId: string;
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description Read a mail subscription and its place in the event log */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["MailSubscription"];
                    };
                };
            };
        };
        /**
         * Replace the receivers and the filter of a mail subscription, which goes on in its place
         * @description Needs the scope `credentials:write`.
         */
        put: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    mailSubscriptionId: string;
                };
                cookie?: never;
            };
            requestBody: {
                content: {
                    "application/json": components["schemas"]["MailSubscriptionRequest"];
                };
            };
            responses: {
                /** @description Replace the receivers and the filter of a mail subscription, which goes on in its place */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["MailSubscription"];
                    };
                };
            };
        };
        post?: never;
        /**
         * Delete a mail subscription with its dead letters
         * @description Needs the scope `credentials:write`.
         */
        delete: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    mailSubscriptionId: string;
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description Delete a mail subscription with its dead letters */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["MailSubscriptionDeleted"];
                    };
                };
            };
        };
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/mail-subscriptions/{mailSubscriptionId}/deliveries": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the events whose mail was given up, or the first event of a mail that is sent again later
         * @description Needs the scope `credentials:write`.
         */
        get: {
            parameters: {
                query?: {
                    /** @description `dead`: given up. `waiting`: failed, and sent again later. */
                    state?: "dead" | "waiting";
                    /** @description Of events after the one with this id. */
                    after?: string;
                    /** @description Highest number of rows. */
                    limit?: number;
                };
                header?: never;
                path: {
                    mailSubscriptionId: string;
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description List the events whose mail was given up, or the first event of a mail that is sent again later */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["WebhookDeliveryList"];
                    };
                };
            };
        };
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/mail-subscriptions/{mailSubscriptionId}/replay": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Send dead letters again, and list all that are under way
         * @description Needs the scope `credentials:write`.
         */
        post: {
            parameters: {
                query?: never;
                header?: {
                    /** @description A new random text for each new request, in quotes. A repeated request gets the first answer for 24 hours (draft-ietf-httpapi-idempotency-key-header). */
                    "Idempotency-Key"?: string;
                };
                path: {
                    mailSubscriptionId: string;
                };
                cookie?: never;
            };
            requestBody: {
                content: {
                    "application/json": components["schemas"]["ReplayRequest"];
                };
            };
            responses: {
                /** @description Send dead letters again, and list all that are under way */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["WebhookDeliveryList"];
                    };
                };
            };
        };
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/credentials/api-keys": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the API keys, newest first, without their secrets
         * @description Needs the scope `credentials:write`.
         */
        get: {
            parameters: {
                query?: never;
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description List the API keys, newest first, without their secrets */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ApiKeyList"];
                    };
                };
            };
        };
        put?: never;
        /**
         * Create an API key; only this answer has it
         * @description Needs the scope `credentials:write`.
         */
        post: {
            parameters: {
                query?: never;
                header?: {
                    /** @description A new random text for each new request, in quotes. A repeated request gets the first answer for 24 hours (draft-ietf-httpapi-idempotency-key-header). */
                    "Idempotency-Key"?: string;
                };
                path?: never;
                cookie?: never;
            };
            requestBody: {
                content: {
                    "application/json": components["schemas"]["CredentialRequest"];
                };
            };
            responses: {
                /** @description Create an API key; only this answer has it */
                201: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["IssuedApiKey"];
                    };
                };
            };
        };
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/credentials/api-keys/{keyId}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /**
         * Revoke an API key for good, from the next request on
         * @description Needs the scope `credentials:write`.
         */
        delete: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    keyId: string;
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description Revoke an API key for good, from the next request on */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ApiKey"];
                    };
                };
            };
        };
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/credentials/clients": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the OAuth clients, newest first, without their secrets
         * @description Needs the scope `credentials:write`.
         */
        get: {
            parameters: {
                query?: never;
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description List the OAuth clients, newest first, without their secrets */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["OauthClientList"];
                    };
                };
            };
        };
        put?: never;
        /**
         * Create an OAuth client; only this answer has its secret
         * @description Needs the scope `credentials:write`.
         */
        post: {
            parameters: {
                query?: never;
                header?: {
                    /** @description A new random text for each new request, in quotes. A repeated request gets the first answer for 24 hours (draft-ietf-httpapi-idempotency-key-header). */
                    "Idempotency-Key"?: string;
                };
                path?: never;
                cookie?: never;
            };
            requestBody: {
                content: {
                    "application/json": components["schemas"]["CredentialRequest"];
                };
            };
            responses: {
                /** @description Create an OAuth client; only this answer has its secret */
                201: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["IssuedOauthClient"];
                    };
                };
            };
        };
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/credentials/clients/{clientId}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /**
         * Disable an OAuth client and its tokens for good, from the next request on
         * @description Needs the scope `credentials:write`.
         */
        delete: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    clientId: string;
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description Disable an OAuth client and its tokens for good, from the next request on */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["OauthClient"];
                    };
                };
            };
        };
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/stream": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Follow limits, profiles, locks, alarms and power, or the event log, as server-sent events
         * @description Needs the scope `locations:read`.
         */
        get: {
            parameters: {
                query?: {
                    /** @description Only events of this location. */
                    locationId?: string;
                    /** @description `live`: changes of the present state. `logged`: the event log, which resumes. */
                    events?: "live" | "logged";
                    /** @description With `events=logged`: events after the one with this id. The header `Last-Event-ID` comes first. Left out: from now on. */
                    after?: string;
                    /** @description Types, separated by commas. Left out: all. */
                    type?: string;
                };
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description Follow limits, profiles, locks, alarms and power, or the event log, as server-sent events */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "text/event-stream": components["schemas"]["StreamEvent"];
                    };
                };
            };
        };
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/health": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Read the health of the service */
        get: {
            parameters: {
                query?: never;
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description Read the health of the service */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Health"];
                    };
                };
            };
        };
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/oauth/token": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Exchange client credentials for an access token */
        post: {
            parameters: {
                query?: never;
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody: {
                content: {
                    "application/x-www-form-urlencoded": components["schemas"]["TokenRequest"];
                    "application/json": components["schemas"]["TokenRequest"];
                };
            };
            responses: {
                /** @description Exchange client credentials for an access token */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["TokenResponse"];
                    };
                };
            };
        };
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
}
export type webhooks = Record<string, never>;
export interface components {
    schemas: {
        /**
         * @example {
         *       "priority": 5,
         *       "limitKw": 22,
         *       "startTime": "2030-06-01T17:00:00Z",
         *       "endTime": "2030-06-01T19:00:00Z"
         *     }
         */
        LimitProfileRequest: {
            /** @description First instant of the window (inclusive). */
            startTime: components["schemas"]["Instant"];
            /** @description End of the window (exclusive); after startTime and in the future. */
            endTime: components["schemas"]["Instant"];
            /**
             * @description Power limit in kW.
             * @example 42.5
             */
            limitKw: number;
            /**
             * @description 0 (lowest) to 10 (highest).
             * @default 0
             */
            priority: number;
        };
        /**
         * Format: date-time
         * @description RFC 3339 in UTC (`Z` or `+00:00`), from 1970 to 9999, no leap second.
         * @example 2026-06-01T17:00:00.000Z
         */
        Instant: string;
        /**
         * @example {
         *       "limitKw": 42.5
         *     }
         */
        PermanentLimitRequest: {
            /**
             * @description Power limit in kW.
             * @example 42.5
             */
            limitKw: number;
        };
        /**
         * @example {
         *       "name": "Harbour",
         *       "locationIds": [
         *         "quay-1",
         *         "quay-2"
         *       ],
         *       "limitKw": 90
         *     }
         * @example {
         *       "name": "No cap yet",
         *       "locationIds": [
         *         "quay-1"
         *       ]
         *     }
         */
        CreateClusterRequest: {
            name: string;
            locationIds: string[];
            limitKw?: number | null;
        };
        /**
         * @example {
         *       "limitKw": 80
         *     }
         * @example {
         *       "limitKw": null
         *     }
         * @example {
         *       "locationIds": [
         *         "quay-1"
         *       ],
         *       "status": "INACTIVE"
         *     }
         */
        UpdateClusterRequest: {
            name?: string;
            locationIds?: string[];
            limitKw?: number | null;
            /** @enum {string} */
            status?: "ACTIVE" | "INACTIVE";
        };
        /**
         * @example {}
         * @example {
         *       "note": "The electrician comes at noon."
         *     }
         */
        AcknowledgeAlarmRequest: {
            /** @description For other operators. */
            note?: string | null;
        };
        /**
         * @example {
         *       "kind": "OFFLINE",
         *       "until": "2026-06-01T17:00:00Z",
         *       "note": "Works on the network."
         *     }
         */
        MuteAlarmsRequest: {
            /** @enum {string} */
            kind: "LIMIT_UNATTAINABLE" | "NON_COMPLIANT" | "OFFLINE" | "STALE" | "SITE_METER_STALE" | "SITE_METER_IMPLAUSIBLE" | "NO_LEASE" | "DEPARTURE_AT_RISK";
            /** @description With `connectorId`: only alarms of this connector. Left out: the whole location. */
            controllerUuid?: string | null;
            connectorId?: string | null;
            /** @description In the future, at most 366 days ahead. */
            until: components["schemas"]["Instant"];
            /** @description For other operators. */
            note?: string | null;
        };
        /**
         * @example {
         *       "departureTime": "2030-06-01T17:00:00Z",
         *       "energyNeedKwh": 22,
         *       "minimumEnergyKwh": 5
         *     }
         */
        ChargingPreferences: {
            /**
             * @description Instant at which the car leaves.
             * @example 2030-06-01T17:00:00Z
             */
            departureTime?: components["schemas"]["Instant"];
            /**
             * @description Energy that the car needs from its arrival to its departure, kWh.
             * @example 22
             */
            energyNeedKwh?: number;
            /**
             * @description Energy that the car receives before any car gets more than its own minimum, kWh.
             * @example 5
             */
            minimumEnergyKwh?: number;
            /**
             * @description From 0 to 10. A car with a higher priority precedes; 0 if left out.
             * @example 3
             */
            priority?: number;
            /**
             * @description Capacity of the battery, kWh. With a reported `socPercent` it gives the need if no source declares `energyNeedKwh`.
             * @example 60
             */
            batteryCapacityKwh?: number;
            /**
             * @description State of charge that the car needs at its departure, %; 100 if left out.
             * @example 80
             */
            targetSocPercent?: number;
        };
        /**
         * @example {
         *       "source": "DSO control box 17",
         *       "isActive": true,
         *       "limitKw": 8.4,
         *       "durationS": 3600,
         *       "sentAt": "2026-06-01T12:00:00Z"
         *     }
         * @example {
         *       "source": "DSO control box 17",
         *       "isActive": false,
         *       "sentAt": "2026-06-01T12:30:00Z"
         *     }
         * @example {
         *       "source": "DSO control box 17",
         *       "sentAt": "2026-06-01T12:31:00Z"
         *     }
         */
        OperatorLimitRequest: {
            /**
             * @description Sender, in the words of the operator: recorded and shown.
             * @example DSO control box 17
             */
            source: string;
            /** @description false ends the limit. Left out: a heartbeat, which changes no limit. */
            isActive?: boolean;
            /**
             * @description Highest power of the location, kW; required if isActive is true.
             * @example 4.2
             */
            limitKw?: number;
            /** @description Validity from `sentAt` on, s. Left out: until the operator ends it. */
            durationS?: number;
            /** @description By the sender's clock. An order that is not newer than the last one is ignored. */
            sentAt: components["schemas"]["Instant"];
        } & ((unknown | {
            /** @constant */
            isActive?: false;
        }) & (unknown | {
            limitKw?: unknown;
        }));
        /**
         * @example {
         *       "hb": 17,
         *       "at": "2026-06-01T12:00:00Z",
         *       "powerW": 23400,
         *       "currentA": [
         *         31.2,
         *         28.4,
         *         40.1
         *       ]
         *     }
         * @example {
         *       "at": "2026-06-01T12:00:01Z",
         *       "powerW": -4100
         *     }
         */
        SiteMeterReading: {
            /**
             * @description Version of the message format.
             * @constant
             */
            v?: 1;
            /** @description Rises by one with each reading; it distinguishes two readings of one instant. */
            hb?: number;
            /** @description Instant of the reading, by the sender's clock. */
            at: components["schemas"]["Instant"];
            /**
             * @description Power at the meter, W: import is positive, export is negative.
             * @example 23400
             */
            powerW: number;
            /**
             * @description Current of L1, L2 and L3, A. Without it the building counts as an even load of all phases.
             * @example [
             *       31.2,
             *       28.4,
             *       40.1
             *     ]
             */
            currentA?: [
                number,
                number,
                number
            ];
            /** @description Energy imported so far, Wh. */
            energyWh?: number;
        };
        /**
         * @example {
         *       "url": "https://example.com/headroom"
         *     }
         */
        CreateWebhookRequest: {
            /**
             * @description Receiver of the events.
             * @example https://example.com/headroom
             */
            url: string;
            /** @description Only events of these types. Left out: all. */
            types?: ("profile.submitted" | "profile.cancelled" | "permanentLimit.changed" | "cluster.changed" | "cluster.deleted" | "alarm.began" | "alarm.ended" | "alarm.acknowledged" | "alarm.muted" | "alarm.unmuted" | "operatorLimit.changed" | "session.ended" | "charger.offline" | "charger.online" | "provisioning.changed" | "credential.issued" | "credential.changed" | "credential.ended" | "webhook.changed" | "webhook.deleted" | "mailSubscription.changed" | "mailSubscription.deleted")[] | null;
            /** @description Only events of these locations. Left out: all, and those without a location. */
            locationIds?: string[] | null;
            /** @description Events after the one with this id. Left out: from now on. */
            after?: string;
        };
        /**
         * @example {
         *       "url": "https://example.com/headroom",
         *       "types": [
         *         "alarm.began"
         *       ]
         *     }
         */
        WebhookRequest: {
            /**
             * @description Receiver of the events.
             * @example https://example.com/headroom
             */
            url: string;
            /** @description Only events of these types. Left out: all. */
            types?: ("profile.submitted" | "profile.cancelled" | "permanentLimit.changed" | "cluster.changed" | "cluster.deleted" | "alarm.began" | "alarm.ended" | "alarm.acknowledged" | "alarm.muted" | "alarm.unmuted" | "operatorLimit.changed" | "session.ended" | "charger.offline" | "charger.online" | "provisioning.changed" | "credential.issued" | "credential.changed" | "credential.ended" | "webhook.changed" | "webhook.deleted" | "mailSubscription.changed" | "mailSubscription.deleted")[] | null;
            /** @description Only events of these locations. Left out: all, and those without a location. */
            locationIds?: string[] | null;
        };
        /**
         * @example {}
         * @example {
         *       "overlapS": 3600
         *     }
         */
        RotateWebhookSecretRequest: {
            /**
             * @description Seconds in which the secret before signs too.
             * @default 86400
             */
            overlapS: number;
        };
        /**
         * @example {}
         * @example {
         *       "eventIds": [
         *         "1041"
         *       ]
         *     }
         */
        ReplayRequest: {
            /** @description Dead letters to send again. Left out: all. */
            eventIds?: string[] | null;
        };
        /**
         * @example {
         *       "to": [
         *         "alarms@example.com"
         *       ],
         *       "types": [
         *         "alarm.began",
         *         "alarm.ended"
         *       ]
         *     }
         */
        MailSubscriptionRequest: {
            /**
             * @description Receivers of the mails.
             * @example [
             *       "alarms@example.com"
             *     ]
             */
            to: string[];
            /** @description Only events of these types. Left out: all. */
            types?: ("profile.submitted" | "profile.cancelled" | "permanentLimit.changed" | "cluster.changed" | "cluster.deleted" | "alarm.began" | "alarm.ended" | "alarm.acknowledged" | "alarm.muted" | "alarm.unmuted" | "operatorLimit.changed" | "session.ended" | "charger.offline" | "charger.online" | "provisioning.changed" | "credential.issued" | "credential.changed" | "credential.ended" | "webhook.changed" | "webhook.deleted" | "mailSubscription.changed" | "mailSubscription.deleted")[] | null;
            /** @description Only events of these locations. Left out: all, and those without a location. */
            locationIds?: string[] | null;
        };
        /**
         * @example {
         *       "name": "Fleet back end",
         *       "scopes": [
         *         "locations:read"
         *       ],
         *       "expiresAt": "2031-01-01T00:00:00Z"
         *     }
         * @example {
         *       "name": "Price optimizer",
         *       "scopes": [
         *         "locations:read",
         *         "locations:write"
         *       ]
         *     }
         */
        CredentialRequest: {
            /**
             * @description No other active credential of its kind may have this name.
             * @example Fleet back end
             */
            name: string;
            /** @description Only scopes that the credential of the request has itself. */
            scopes: ("locations:read" | "locations:write" | "clusters:read" | "clusters:write" | "chargers:write" | "org:write" | "operator:write" | "meter:write" | "credentials:write")[];
            /** @description In the future, and not after the expiry of the credential of the request. Null: never. */
            expiresAt?: components["schemas"]["Instant"] | null;
        };
        /**
         * @example {
         *       "grant_type": "client_credentials",
         *       "client_id": "harbour-backend",
         *       "client_secret": "the secret that was shown once",
         *       "scope": "locations:read"
         *     }
         */
        TokenRequest: {
            /** @constant */
            grant_type: "client_credentials";
            /**
             * @description Space-separated; narrows the scopes of the client, never widens them.
             * @example locations:read locations:write
             */
            scope?: string;
            /** @description Left out if HTTP Basic carries it. */
            client_id?: string;
            /** @description Left out if HTTP Basic carries it. */
            client_secret?: string;
        };
        ConnectorSchedule: {
            controllerUuid: string;
            connectorId: string;
            limitKw: number;
            startTime: components["schemas"]["Instant"];
            endTime: components["schemas"]["Instant"];
            status: components["schemas"]["ProfileStatus"];
        };
        /** @enum {string} */
        ProfileStatus: "SCHEDULED" | "ACTIVE" | "EXPIRED";
        ErrorEnvelope: {
            error: {
                /** @enum {string} */
                code: "INVALID_REQUEST_BODY" | "TARGET_INACTIVE" | "CLUSTER_EMPTY" | "CLUSTER_INACTIVE" | "UNAUTHORIZED" | "FEATURE_NOT_ENABLED" | "INSUFFICIENT_SCOPE" | "LOCATION_NOT_FOUND" | "CHARGER_NOT_FOUND" | "CLUSTER_NOT_FOUND" | "PROFILE_NOT_FOUND" | "SESSION_NOT_FOUND" | "NOT_FOUND" | "METHOD_NOT_ALLOWED" | "REQUEST_IN_PROGRESS" | "PRECONDITION_FAILED" | "PAYLOAD_TOO_LARGE" | "UNSUPPORTED_MEDIA_TYPE" | "IDEMPOTENCY_KEY_REUSED" | "RATE_LIMITED" | "INTERNAL_ERROR" | "SERVICE_UNAVAILABLE";
                message: string;
                /** Format: uuid */
                requestId: string;
            };
        };
        ConnectorSchedules: {
            controllerUuid: string;
            connectorId: string;
            locationId: string;
            lockLimitKw: number | null;
            profiles: components["schemas"]["Profile"][];
        };
        Profile: {
            priority: number;
            limitKw: number;
            startTime: components["schemas"]["Instant"];
            endTime: components["schemas"]["Instant"];
            status: components["schemas"]["ProfileStatus"];
        };
        LocationSchedule: {
            locationId: string;
            priority: number;
            limitKw: number;
            startTime: components["schemas"]["Instant"];
            endTime: components["schemas"]["Instant"];
            status: components["schemas"]["ProfileStatus"];
            permanentLimitKw: number;
            effectiveLimitKw: number;
        };
        PermanentLimit: {
            locationId: string;
            permanentLimitKw: number;
            effectiveLimitKw: number;
        };
        LocationLimits: {
            locationId: string;
            permanentLimitKw: number;
            effectiveLimitKw: number;
            profiles: components["schemas"]["Profile"][];
        };
        OrganizationSchedule: {
            tenantUuid: string;
            priority: number;
            limitKw: number;
            startTime: components["schemas"]["Instant"];
            endTime: components["schemas"]["Instant"];
            status: components["schemas"]["ProfileStatus"];
            note: string;
        };
        OrganizationLimits: {
            tenantUuid: string;
            profiles: components["schemas"]["Profile"][];
            note: string;
        };
        Cluster: {
            clusterId: string;
            tenantUuid: string;
            name: string;
            locationIds: string[];
            limitKw: number | null;
            /** @enum {string} */
            status: "ACTIVE" | "INACTIVE";
            createdAt: components["schemas"]["Instant"];
            updatedAt: components["schemas"]["Instant"];
        };
        ClusterList: {
            clusters: components["schemas"]["Cluster"][];
            count: number;
        };
        ClusterDetail: {
            clusterId: string;
            tenantUuid: string;
            name: string;
            locationIds: string[];
            limitKw: number | null;
            /** @enum {string} */
            status: "ACTIVE" | "INACTIVE";
            createdAt: components["schemas"]["Instant"];
            updatedAt: components["schemas"]["Instant"];
            liveStatus: components["schemas"]["ClusterLiveStatus"];
        };
        ClusterLiveStatus: {
            actualTotalKw: number;
            /** @description Estimated part of it, for silent connectors; left out if everything is measured. */
            estimatedTotalKw?: number;
            clusterLimitKw: number | null;
            sumLocationLimits: number;
            withinLimit: boolean;
            locations: {
                locationId: string;
                setLimitKw: number;
                effectiveLimitKw: number;
                actualKw: number;
                /** @description Estimated part of it, for silent connectors; left out if everything is measured. */
                estimatedKw?: number;
            }[];
        };
        ClusterDeleted: {
            deleted: boolean;
            clusterId: string;
        };
        ClusterSchedule: {
            clusterId: string;
            applied: components["schemas"]["LocationSchedule"][];
            errors: {
                locationId: string;
                error: components["schemas"]["ErrorEnvelope"];
            }[];
            totalLocations: number;
        };
        LocationList: {
            locations: components["schemas"]["LocationSummary"][];
            /** @description Locations of the tenant, on all pages. */
            count: number;
            nextCursor: string | null;
        };
        LocationSummary: {
            locationId: string;
            name: string;
            /** @enum {string} */
            status: "ACTIVE" | "INACTIVE";
            permanentLimitKw: number;
            effectiveLimitKw: number;
            /** @description The limit in force: the smallest of effective limit, cluster shares, the grid operator's limit, peak shaving, and the physical connection, less the building. */
            gridLimitKw: number;
            actualKw: number;
            /** @description Estimated part of `actualKw`, for silent connectors, at most their entitlements; null if all is measured. */
            estimatedKw: number | null;
            connectors: number;
            silentConnectors: number;
            lockedConnectors: number;
            openAlarms: number;
        };
        LocationLive: {
            locationId: string;
            name: string;
            /** @enum {string} */
            status: "ACTIVE" | "INACTIVE";
            at: components["schemas"]["Instant"];
            gridLimitKw: number;
            gridLimitCause: components["schemas"]["GridLimitCause"];
            /** @description The grid operator's limit; null if no operator may limit the location. */
            operatorLimit: components["schemas"]["OperatorLimit"] | null;
            /** @description Building load, and power left for chargers; null if the location has no meter. */
            siteMeter: components["schemas"]["SiteMeter"] | null;
            /** @description Use of the average that the tariff bills, and the rest; null without peak shaving. */
            peakShaving: components["schemas"]["PeakShaving"] | null;
            effectiveLimitKw: number;
            permanentLimitKw: number;
            /** @description Power that may be granted now: the limit in force, or a lower one that begins within 15 s. */
            budgetKw: number;
            /** @description Sum of the entitlements of its connectors. */
            reservedKw: number;
            actualKw: number;
            /** @description Estimated part of `actualKw`, for silent connectors, at most their entitlements; null if all is measured. */
            estimatedKw: number | null;
            /** @description The connection, if its current is provisioned, then the feeders. */
            fuses: components["schemas"]["FuseLive"][];
            connectors: components["schemas"]["ConnectorLive"][];
            /** @description Forecast for each car with a declared departure, at most a minute old, the earliest first. */
            departures: components["schemas"]["DepartureForecast"][];
            /** @description Open alarms. */
            alarms: components["schemas"]["Alarm"][];
        };
        GridLimitCause: {
            /** @constant */
            kind: "permanentLimit";
        } | {
            /** @constant */
            kind: "profile";
            priority: number;
            startTime: components["schemas"]["Instant"];
            endTime: components["schemas"]["Instant"];
        } | {
            /** @constant */
            kind: "clusterShare";
            clusterId: string;
        } | {
            /** @constant */
            kind: "operatorLimit";
        } | {
            /** @constant */
            kind: "peakShaving";
        } | {
            /** @constant */
            kind: "building";
        } | {
            /** @constant */
            kind: "physicalConnection";
        };
        OperatorLimit: {
            locationId: string;
            operatorUuid: string;
            /**
             * @description INIT: no order yet, the fail-safe limit holds. LIMITED: an order holds. UNLIMITED_CONTROLLED: the operator sends heartbeats and does not limit. FAILSAFE: its heartbeats are missing, the fail-safe limit holds. UNLIMITED_AUTONOMOUS: they stayed missing, the location's own limits apply.
             * @enum {string}
             */
            state: "INIT" | "UNLIMITED_CONTROLLED" | "LIMITED" | "FAILSAFE" | "UNLIMITED_AUTONOMOUS";
            since: components["schemas"]["Instant"];
            /** @description The operator's limit for the location, kW; null without one. */
            limitKw: number | null;
            /** @description Sender of the last order; null if none counts. */
            source: string | null;
            sentAt: components["schemas"]["Instant"] | null;
            /** @description End of the order; null if it has none. */
            endsAt: components["schemas"]["Instant"] | null;
            /** @description Null if nothing was received since the heartbeats went missing. */
            lastHeardAt: components["schemas"]["Instant"] | null;
            /** @description Instant of the next change of state if nothing is received until then. */
            nextChangeAt: components["schemas"]["Instant"] | null;
            failsafeKw: number;
            failsafeMinS: number;
            /** @description Expected interval of its heartbeats, s; they are missing after twice as long. */
            heartbeatS: number;
        };
        SiteMeter: {
            locationId: string;
            meterUuid: string;
            /** @enum {string} */
            covers: "connection" | "building";
            /**
             * @description FRESH: its last reading counts. FADING: it is late, and the building counts as more and more. STALE: it is silent. DISTRUSTED: its readings are implausible. In the last two the building counts as its provisioned maximum.
             * @enum {string}
             */
            state: "STALE" | "FRESH" | "FADING" | "DISTRUSTED";
            /** @description Building load, kW: its highest value in the last minute. */
            buildingKw: number;
            /** @description Building reserve, kW: power kept free for the building load to rise. */
            reserveKw: number;
            /** @description Power left for the chargers, kW. */
            leavesKw: number;
            /** @description The same of L1, L2 and L3, A; null if the location has no connection in amperes. */
            leavesA: number[] | null;
            /** @description The same as a sentence. */
            explanation: string;
            /** @description true: the reserve covers 99.9 % of the building's recorded rises at this time of day. false: too few are recorded, and the provisioned maximum is kept free. */
            isReserveLearnt: boolean;
            /** @description Its last reading, kW; null before the first. */
            powerKw: number | null;
            currentA: number[] | null;
            energyWh: number | null;
            lastHeardAt: components["schemas"]["Instant"] | null;
            /** @description Expected interval of its readings, s. */
            cadenceS: number;
            /** @description From then on the building counts as its maximum, unless a reading arrives. */
            staleAt: components["schemas"]["Instant"] | null;
            /** @description Capacity of the connection, kW. */
            connectionKw: number;
            maxBuildingKw: number;
            /** @description Provisioned lowest and highest reserve. */
            reserveBoundsKw: number[];
            pvRaisesHeadroom: boolean;
        };
        PeakShaving: {
            /** @description Highest average import over a window, kW. */
            limitKw: number;
            /** @description Windows begin at whole multiples of this in UTC, s. */
            windowS: number;
            windowStartsAt: components["schemas"]["Instant"];
            windowEndsAt: components["schemas"]["Instant"];
            /** @description Import in this window, kWh; unreported import counts with its highest possible value. */
            usedKwh: number;
            /** @description Power left for the chargers until the window ends, kW. */
            leavesKw: number;
            /** @description Highest import in a window, kWh. */
            allowedKwh: number;
            /** @description Power left for the chargers at the begin of the next window, with the present building load. */
            nextLeavesKw: number;
            /** @description The same as a sentence. */
            explanation: string;
        };
        FuseLive: {
            /** @description Its name; null for the connection. */
            feeder: string | null;
            /** @description The feeder above it; null if that is the connection. */
            parent: string | null;
            phases: {
                /** @enum {string} */
                phase: "L1" | "L2" | "L3";
                /** @description Rating of the fuse on this phase; 0 without a fuse. */
                ratedA: number;
                /** @description Sum of the entitlements of connectors on this phase. */
                reservedA: number;
                /** @description Current that connectors report on this phase. A current whose phase is unknown counts on each. */
                measuredA: number;
                /** @description It keeps a connector from a higher limit. */
                isFull: boolean;
            }[];
        };
        ConnectorLive: {
            controllerUuid: string;
            connectorId: string;
            /** @enum {string} */
            status: "ACTIVE" | "INACTIVE";
            /**
             * @description A DC connector keeps to a power: its `limitA` is the highest current that this takes from each phase, and its kW are taken from the grid.
             * @enum {string}
             */
            powerType: "AC" | "DC";
            /** @enum {string} */
            link: "online" | "stale" | "offline";
            /**
             * @description Limit against the demand of its car: `free` covers it, or there is no car; `limited` is less; `minimum` is 6 A, though the car needs more; `paused` is nothing.
             * @enum {string}
             */
            throttle: "free" | "limited" | "minimum" | "paused";
            /** @description State behind the OCPP gateway, on the way to a lease; null for other chargers and while it is offline. */
            ocppState: ("disconnected" | "booting" | "rejected" | "configuring" | "installingFailsafe" | "provingLease" | "leased" | "unleased") | null;
            /** @description Its gateway's reason against its lease, as in the alarm NO_LEASE; null without one. */
            whyNoLease: string | null;
            chargingStatus: ("Available" | "Preparing" | "Charging" | "SuspendedEV" | "SuspendedEVSE" | "Finishing" | "Faulted" | "Unavailable") | null;
            /** @description State of charge of its car's battery, %; null if its charger does not report it. */
            socPercent: number | null;
            /** @description Limit of its lock; null if it is not locked. */
            lockLimitKw: number | null;
            /** @description A per phase; null before the first limit. */
            limitA: number | null;
            limitKw: number | null;
            /** @description Number of its phases that the limit is for, counted from the first, while the others are reallocated; null if it is for all. */
            limitPhases: number | null;
            /** @description Its limit is for fewer phases than its car would use, because that serves more. */
            isPhaseSwitched: boolean;
            actualKw: number;
            /** @description It is silent: `actualKw` is its last reading, at most its entitlement. */
            isEstimated: boolean;
            /** @description Its entitlement. */
            reservedKw: number;
            /** @enum {string} */
            reason: "maximum" | "demand" | "fairShare" | "clusterShare" | "departure" | "waiting" | "paused" | "minimumPause" | "lock" | "lastResort" | "idle" | "failsafe" | "nonCompliant" | "readOnly" | "reserved";
            /** @description The full phase of the connection (`feeder` null) or of a feeder that keeps it from a higher limit; null if none does. */
            fullFuse: {
                feeder: string | null;
                /** @enum {string} */
                phase: "L1" | "L2" | "L3";
            } | null;
            /** @description The reason as a sentence. */
            explanation: string;
            /** @description Expected interval of its charger's reports, s. */
            heartbeatS: number;
            /** @description Validity of a limit without renewal, s. */
            leaseTtlS: number;
            leaseLeftSeconds: number | null;
            lastHeardSecondsAgo: number | null;
        };
        DepartureForecast: {
            controllerUuid: string;
            connectorId: string;
            departureTime: components["schemas"]["Instant"];
            /** @description Energy that the car needs from its arrival on, kWh. */
            energyNeedKwh: number;
            /** @description Energy since the arrival of the car, kWh. */
            deliveredKwh: number;
            /** @description Predicted instant at which the car has its energy; null if it leaves before. */
            readyAt: components["schemas"]["Instant"] | null;
            /** @description Predicted energy that is missing at its departure, kWh. */
            missingKwh: number;
            /** @description The alarm DEPARTURE_AT_RISK is due. */
            isAtRisk: boolean;
            /** @description The forecast as a sentence, with a way out. */
            explanation: string;
        };
        Alarm: {
            alarmId: string;
            /** @enum {string} */
            kind: "LIMIT_UNATTAINABLE" | "NON_COMPLIANT" | "OFFLINE" | "STALE" | "SITE_METER_STALE" | "SITE_METER_IMPLAUSIBLE" | "NO_LEASE" | "DEPARTURE_AT_RISK";
            locationId: string;
            controllerUuid: string | null;
            connectorId: string | null;
            /** @description Latest reason of the alarm. */
            reason: string;
            /** @description Reason at its begin. */
            firstReason: string;
            beganAt: components["schemas"]["Instant"];
            /** @description Null while it lasts. */
            endedAt: components["schemas"]["Instant"] | null;
            /** @description The last one by an operator; null before. */
            acknowledgement: components["schemas"]["AlarmAcknowledgement"] | null;
            /** @description End of the mute that covers the open alarm; null without one. */
            mutedUntil: components["schemas"]["Instant"] | null;
            /** @description It began under a mute that has not ended: webhooks and mails do not have it. */
            isWithheld: boolean;
        };
        AlarmAcknowledgement: {
            at: components["schemas"]["Instant"];
            by: string;
            note: string | null;
        };
        LocationTimeline: {
            locationId: string;
            from: components["schemas"]["Instant"];
            /** @description End of the segments. */
            to: components["schemas"]["Instant"];
            /** @description Begin of the next request, after 1,000 segments; null if they cover the span. */
            nextFrom: components["schemas"]["Instant"] | null;
            segments: {
                startTime: components["schemas"]["Instant"];
                endTime: components["schemas"]["Instant"];
                limitKw: number;
                /** @description Limit by the location's own profiles alone. */
                effectiveLimitKw: number;
                cause: components["schemas"]["GridLimitCause"];
            }[];
        };
        LocationHistory: {
            locationId: string;
            from: components["schemas"]["Instant"];
            to: components["schemas"]["Instant"];
            /** @description Submissions whose window meets the span, in the order of their receipt. */
            submissions: components["schemas"]["Submission"][];
            /** @description The limit in force at `from`, and every limit set until `to`. */
            permanentLimits: {
                limitKw: number;
                setAt: components["schemas"]["Instant"];
            }[];
            /** @description Null on the last page. */
            nextCursor: string | null;
        };
        Submission: {
            /** @description 0 (lowest) to 10 (highest). */
            priority: number;
            limitKw: number;
            startTime: components["schemas"]["Instant"];
            endTime: components["schemas"]["Instant"];
            submittedAt: components["schemas"]["Instant"];
            /** @description Instant at which it was replaced or cancelled; null while it holds its slot. */
            supersededAt: components["schemas"]["Instant"] | null;
        };
        LocationPower: {
            locationId: string;
            from: components["schemas"]["Instant"];
            to: components["schemas"]["Instant"];
            stepSeconds: number;
            /** @description Feeder of `phases`; null if they are of all chargers. */
            feeder: string | null;
            points: {
                at: components["schemas"]["Instant"];
                meanKw: number;
                maxKw: number;
                /** @description Estimated part of `meanKw`, because connectors were silent; null if all was measured. */
                estimatedKw: number | null;
                /** @description The lowest grid limit in force during it. */
                limitKw: number;
                /** @description The mean of the grid limit in force during it: compare `meanKw` with this one. */
                meanLimitKw: number;
                /** @description Current of the chargers on each phase of the grid, or below `feeder`, A; empty if the location had no such fuse. */
                phases: {
                    /** @enum {string} */
                    phase: "L1" | "L2" | "L3";
                    meanA: number;
                    /** @description Highest value in the step. */
                    maxA: number;
                }[];
                /** @description Building load in that step; null if the location had no site meter. */
                building: {
                    meanKw: number;
                    /** @description Highest value in the step. */
                    maxKw: number;
                    /** @description Power kept free beside it for it to rise. */
                    meanReserveKw: number;
                } | null;
            }[];
        };
        DeparturePlan: {
            locationId: string;
            /** @enum {string} */
            policy: "equal" | "fair" | "energy" | "onTime";
            /** @description The plan is made from the state at this instant. */
            at: components["schemas"]["Instant"];
            /** @description Without gaps; empty if no car has declared a departure and a need. */
            steps: {
                startTime: components["schemas"]["Instant"];
                endTime: components["schemas"]["Instant"];
                /** @description Limit in force, kW, by present information. */
                limitKw: number;
                /** @description Power for cars without a declared departure, kW; they count to the end. */
                otherKw: number;
            }[];
            /** @description The earliest departure first. */
            departures: {
                controllerUuid: string;
                connectorId: string;
                departureTime: components["schemas"]["Instant"];
                /** @description Energy that the car needs from its arrival on, kWh. */
                energyNeedKwh: number;
                /** @description Energy since the arrival of the car, kWh. */
                deliveredKwh: number;
                /** @description Predicted instant at which the car has its energy; null if it leaves before. */
                readyAt: components["schemas"]["Instant"] | null;
                /** @description Predicted energy that is missing at its departure, kWh. */
                missingKwh: number;
                /** @description The alarm DEPARTURE_AT_RISK is due. */
                isAtRisk: boolean;
                /** @description The forecast as a sentence, with a way out. */
                explanation: string;
                /** @description Planned power in each step, kW. */
                powerKw: number[];
            }[];
        };
        AlarmList: {
            from: components["schemas"]["Instant"];
            to: components["schemas"]["Instant"];
            alarms: components["schemas"]["Alarm"][];
            /** @description Null on the last page. */
            nextCursor: string | null;
        };
        AlarmMuteList: {
            locationId: string;
            mutes: components["schemas"]["AlarmMute"][];
        };
        AlarmMute: {
            muteId: string;
            /** @enum {string} */
            kind: "LIMIT_UNATTAINABLE" | "NON_COMPLIANT" | "OFFLINE" | "STALE" | "SITE_METER_STALE" | "SITE_METER_IMPLAUSIBLE" | "NO_LEASE" | "DEPARTURE_AT_RISK";
            locationId: string;
            /** @description Null for the whole location. */
            controllerUuid: string | null;
            connectorId: string | null;
            until: components["schemas"]["Instant"];
            note: string | null;
            mutedAt: components["schemas"]["Instant"];
            /** @description The credential. */
            mutedBy: string;
        };
        AlarmMuteDeleted: {
            muteId: string;
            /** @constant */
            deleted: true;
        };
        SessionList: {
            from: components["schemas"]["Instant"];
            to: components["schemas"]["Instant"];
            sessions: components["schemas"]["EndedSession"][];
            /** @description Null on the last page. */
            nextCursor: string | null;
        };
        EndedSession: {
            locationId: string;
            controllerUuid: string;
            connectorId: string;
            /** @description Session id of the charger; null if it reports none. */
            sessionId: string | null;
            /** @description The last identifier that authorized the session; null if the charger reports none. */
            idTag: string | null;
            /** @description The first report with the car. */
            startTime: components["schemas"]["Instant"];
            /** @description The first report without it, or with the next car. */
            endTime: components["schemas"]["Instant"];
            energyKwh: number;
            /**
             * @description `register`: all energy is from the register; `power`: some is integrated from power.
             * @enum {string}
             */
            energySource: "register" | "power";
            /** @description Time in which the car drew power; null in sessions from before it was counted. */
            chargingMinutes: number | null;
            /** @description Time in which the car got less than it could use, by the reason of its limit, the longest first. */
            limited: {
                /** @enum {string} */
                reason: "maximum" | "demand" | "fairShare" | "clusterShare" | "departure" | "waiting" | "paused" | "minimumPause" | "lock" | "lastResort" | "idle" | "failsafe" | "nonCompliant" | "readOnly" | "reserved";
                minutes: number;
            }[];
            /** @description The highest reported power, kW. */
            peakKw: number;
            /** @description The needs that counted at its end. */
            preferences: components["schemas"]["ChargingPreferencesOutput"];
            /** @description Sources that had declared something, the one that takes precedence first. */
            declaredBy: ("api" | "charger" | "default")[];
            /** @description Null without a declared departure and a need. */
            departure: {
                departureTime: components["schemas"]["Instant"];
                energyNeedKwh: number;
                /** @description Energy that was missing when the car left, kWh. */
                missingKwh: number;
                /** @description The car had its need, but for 5 % of it or 0.5 kWh, whichever is more. */
                isKept: boolean;
            } | null;
        };
        /** @description Columns: locationId, controllerUuid, connectorId, sessionId, idTag, startTime, endTime, energyKwh, energySource, chargingMinutes, limitedMinutes, limitedBy, peakKw, departureTime, energyNeedKwh, missingKwh, isKept. */
        SessionListCsv: string;
        EnergyList: {
            from: string;
            to: string;
            /** @enum {string} */
            resolution: "quarterHour" | "day" | "month";
            /** @enum {string} */
            groupBy: "connector" | "location" | "cluster" | "tenant";
            /** @description The oldest period first, then by id. */
            energy: components["schemas"]["PeriodEnergy"][];
            /** @description Null on the last page. */
            nextCursor: string | null;
        };
        PeriodEnergy: {
            /** @description The day (`2026-06-01`), the month (`2026-06`), or the first instant of the quarter-hour. Periods without energy are left out. */
            period: string;
            /** @description Null unless by connector or location. */
            locationId: string | null;
            /** @description Null unless by connector. */
            controllerUuid: string | null;
            /** @description Null unless by connector. */
            connectorId: string | null;
            /** @description Null unless by cluster. */
            clusterId: string | null;
            energyKwh: number;
            /** @description The part of it that is integrated from power; 0 if registers reported all of it. */
            integratedKwh: number;
        };
        /** @description Columns: period, locationId, controllerUuid, connectorId, clusterId, energyKwh, integratedKwh. */
        EnergyListCsv: string;
        EventPage: {
            /** @description The oldest first. */
            events: components["schemas"]["LoggedEvent"][];
            /** @description Continue `after` this id. It counts events that a filter leaves out. */
            last: string;
            /** @description False if events after `after` are no longer kept, or the log has no such id yet: read the present state again. */
            isGapless: boolean;
        };
        LoggedEvent: {
            /**
             * @description Ascending within the organization, with gaps.
             * @example 1041
             */
            id: string;
            /** @enum {string} */
            type: "profile.submitted" | "profile.cancelled" | "permanentLimit.changed" | "cluster.changed" | "cluster.deleted" | "alarm.began" | "alarm.ended" | "alarm.acknowledged" | "alarm.muted" | "alarm.unmuted" | "operatorLimit.changed" | "session.ended" | "charger.offline" | "charger.online" | "provisioning.changed" | "credential.issued" | "credential.changed" | "credential.ended" | "webhook.changed" | "webhook.deleted" | "mailSubscription.changed" | "mailSubscription.deleted";
            at: components["schemas"]["Instant"];
            /** @description Null for the organization and for clusters. */
            locationId: string | null;
            controllerUuid: string | null;
            connectorId: string | null;
            /**
             * @description `rest`: a request. `commandLine`: also provisioning. `service`: a rule or a charger.
             * @enum {string}
             */
            source: "rest" | "commandLine" | "service";
            /** @description The credential that caused it; null without one. */
            by: string | null;
            /** @description The object that changed, by type. */
            data: {
                [key: string]: unknown;
            };
        };
        ConnectorHistory: {
            controllerUuid: string;
            connectorId: string;
            locationId: string;
            from: components["schemas"]["Instant"];
            to: components["schemas"]["Instant"];
            /** @description Submissions whose window meets the span, in the order of their receipt. */
            submissions: components["schemas"]["Submission"][];
            /** @description Null on the last page. */
            nextCursor: string | null;
        };
        ConnectorPower: {
            controllerUuid: string;
            connectorId: string;
            locationId: string;
            from: components["schemas"]["Instant"];
            to: components["schemas"]["Instant"];
            stepSeconds: number;
            /** @description The oldest first. Steps in which the connector was silent are left out. */
            points: {
                at: components["schemas"]["Instant"];
                meanKw: number;
                /** @description Highest mean of a minute in the step. */
                maxKw: number;
                /** @description Mean of the limit sent to it during the step; null if none was in force. */
                limitKw: number | null;
            }[];
            /** @description Null on the last page. */
            nextCursor: string | null;
        };
        /** @description Columns: at, meanKw, maxKw, limitKw. */
        ConnectorPowerCsv: string;
        ChargingSession: {
            controllerUuid: string;
            connectorId: string;
            /** @description Session id of the charger; null if it reports none. */
            sessionId: string | null;
            /** @description The last identifier that authorized the session; null if the charger reports none. */
            idTag: string | null;
            /** @description Energy since the arrival of the car, kWh. */
            deliveredKwh: number;
            /** @description The needs that count: of each field the first declaration in the order of `declared`. */
            preferences: components["schemas"]["ChargingPreferencesOutput"];
            /** @description Declarations of each source, the one that takes precedence first. */
            declared: {
                /** @enum {string} */
                source: "api" | "charger" | "default";
                preferences: components["schemas"]["ChargingPreferencesOutput"];
            }[];
            /** @description Null without a future departure and a need. */
            forecast: {
                departureTime: components["schemas"]["Instant"];
                /** @description Energy that the car needs from its arrival on, kWh. */
                energyNeedKwh: number;
                /** @description Energy since the arrival of the car, kWh. */
                deliveredKwh: number;
                /** @description Predicted instant at which the car has its energy; null if it leaves before. */
                readyAt: components["schemas"]["Instant"] | null;
                /** @description Predicted energy that is missing at its departure, kWh. */
                missingKwh: number;
                /** @description The alarm DEPARTURE_AT_RISK is due. */
                isAtRisk: boolean;
                /** @description The forecast as a sentence, with a way out. */
                explanation: string;
            } | null;
        };
        OrganizationHistory: {
            tenantUuid: string;
            from: components["schemas"]["Instant"];
            to: components["schemas"]["Instant"];
            /** @description Submissions whose window meets the span, in the order of their receipt. */
            submissions: components["schemas"]["Submission"][];
            /** @description Null on the last page. */
            nextCursor: string | null;
            note: string;
        };
        OperatorHistory: {
            locationId: string;
            from: components["schemas"]["Instant"];
            to: components["schemas"]["Instant"];
            /** @description The state at `from`, and every change until `to`, in order; the first of all is INIT. None is ever deleted. */
            events: {
                recordedAt: components["schemas"]["Instant"];
                /**
                 * @description INIT: no order yet, the fail-safe limit holds. LIMITED: an order holds. UNLIMITED_CONTROLLED: the operator sends heartbeats and does not limit. FAILSAFE: its heartbeats are missing, the fail-safe limit holds. UNLIMITED_AUTONOMOUS: they stayed missing, the location's own limits apply.
                 * @enum {string}
                 */
                state: "INIT" | "UNLIMITED_CONTROLLED" | "LIMITED" | "FAILSAFE" | "UNLIMITED_AUTONOMOUS";
                since: components["schemas"]["Instant"];
                /** @description The operator's limit for the location, kW; null without one. */
                limitKw: number | null;
                /** @description Sender of the last order; null if none counts. */
                source: string | null;
                sentAt: components["schemas"]["Instant"] | null;
                /** @description End of the order; null if it has none. */
                endsAt: components["schemas"]["Instant"] | null;
            }[];
            /** @description Null on the last page. */
            nextCursor: string | null;
        };
        CancelledConnectorSchedule: {
            controllerUuid: string;
            connectorId: string;
            limitKw: number;
            startTime: components["schemas"]["Instant"];
            endTime: components["schemas"]["Instant"];
            /** @description Status at its cancellation: SCHEDULED or ACTIVE. */
            status: components["schemas"]["ProfileStatus"];
            /** @description 0 (lowest) to 10 (highest). */
            priority: number;
            /** @description Instant of its cancellation. */
            supersededAt: components["schemas"]["Instant"];
        };
        CancelledLocationSchedule: {
            locationId: string;
            priority: number;
            limitKw: number;
            startTime: components["schemas"]["Instant"];
            endTime: components["schemas"]["Instant"];
            /** @description Status at its cancellation: SCHEDULED or ACTIVE. */
            status: components["schemas"]["ProfileStatus"];
            permanentLimitKw: number;
            effectiveLimitKw: number;
            /** @description Instant of its cancellation. */
            supersededAt: components["schemas"]["Instant"];
        };
        CancelledOrganizationSchedule: {
            tenantUuid: string;
            priority: number;
            limitKw: number;
            startTime: components["schemas"]["Instant"];
            endTime: components["schemas"]["Instant"];
            /** @description Status at its cancellation: SCHEDULED or ACTIVE. */
            status: components["schemas"]["ProfileStatus"];
            note: string;
            /** @description Instant of its cancellation. */
            supersededAt: components["schemas"]["Instant"];
        };
        WebhookList: {
            webhooks: components["schemas"]["Webhook"][];
        };
        Webhook: {
            webhookId: string;
            url: string;
            types: ("profile.submitted" | "profile.cancelled" | "permanentLimit.changed" | "cluster.changed" | "cluster.deleted" | "alarm.began" | "alarm.ended" | "alarm.acknowledged" | "alarm.muted" | "alarm.unmuted" | "operatorLimit.changed" | "session.ended" | "charger.offline" | "charger.online" | "provisioning.changed" | "credential.issued" | "credential.changed" | "credential.ended" | "webhook.changed" | "webhook.deleted" | "mailSubscription.changed" | "mailSubscription.deleted")[] | null;
            locationIds: string[] | null;
            createdAt: components["schemas"]["Instant"];
            createdBy: string;
            updatedAt: components["schemas"]["Instant"];
            /** @description The one before signs too until then. */
            previousSecretEndsAt: components["schemas"]["Instant"] | null;
            /** @description Events after it are still to be sent. */
            lastEventId: string;
            /** @description Locations whose next event is sent again later. */
            waitingLocations: number;
        };
        IssuedWebhook: {
            webhookId: string;
            url: string;
            types: ("profile.submitted" | "profile.cancelled" | "permanentLimit.changed" | "cluster.changed" | "cluster.deleted" | "alarm.began" | "alarm.ended" | "alarm.acknowledged" | "alarm.muted" | "alarm.unmuted" | "operatorLimit.changed" | "session.ended" | "charger.offline" | "charger.online" | "provisioning.changed" | "credential.issued" | "credential.changed" | "credential.ended" | "webhook.changed" | "webhook.deleted" | "mailSubscription.changed" | "mailSubscription.deleted")[] | null;
            locationIds: string[] | null;
            createdAt: components["schemas"]["Instant"];
            createdBy: string;
            updatedAt: components["schemas"]["Instant"];
            /** @description The one before signs too until then. */
            previousSecretEndsAt: components["schemas"]["Instant"] | null;
            /** @description Events after it are still to be sent. */
            lastEventId: string;
            /** @description Locations whose next event is sent again later. */
            waitingLocations: number;
            /** @description Only this answer has it: `whsec_` and base64. */
            secret: string;
        };
        WebhookDeleted: {
            webhookId: string;
            /** @constant */
            deleted: true;
        };
        WebhookDeliveryList: {
            deliveries: components["schemas"]["WebhookDelivery"][];
        };
        WebhookDelivery: {
            eventId: string;
            locationId: string | null;
            attempts: number;
            /** @description Of the last attempt. */
            error: string;
            /** @description Receivers of a mail that do not have it yet. Null for a webhook. */
            to: string[] | null;
            /** @description Null for an event that was never given up. */
            diedAt: components["schemas"]["Instant"] | null;
            /** @description Null for one that is given up. */
            nextAttemptAt: components["schemas"]["Instant"] | null;
        };
        MailSubscriptionList: {
            mailSubscriptions: components["schemas"]["MailSubscription"][];
        };
        MailSubscription: {
            mailSubscriptionId: string;
            to: string[];
            types: ("profile.submitted" | "profile.cancelled" | "permanentLimit.changed" | "cluster.changed" | "cluster.deleted" | "alarm.began" | "alarm.ended" | "alarm.acknowledged" | "alarm.muted" | "alarm.unmuted" | "operatorLimit.changed" | "session.ended" | "charger.offline" | "charger.online" | "provisioning.changed" | "credential.issued" | "credential.changed" | "credential.ended" | "webhook.changed" | "webhook.deleted" | "mailSubscription.changed" | "mailSubscription.deleted")[] | null;
            locationIds: string[] | null;
            createdAt: components["schemas"]["Instant"];
            createdBy: string;
            updatedAt: components["schemas"]["Instant"];
            /** @description Events after it are still to be gathered. */
            lastEventId: string;
            /** @description A mail is under way, or is sent again later. */
            isWaiting: boolean;
        };
        MailSubscriptionDeleted: {
            mailSubscriptionId: string;
            /** @constant */
            deleted: true;
        };
        ApiKeyList: {
            apiKeys: components["schemas"]["ApiKey"][];
            grantableScopes: string[];
            /** @description Null: there is no bound. */
            latestExpiresAt: components["schemas"]["Instant"] | null;
        };
        ApiKey: {
            /** @example a1b2c3d4 */
            keyId: string;
            /** @description Null: it has no name. */
            name: string | null;
            scopes: string[];
            /** @description Null: an older release created it. */
            createdAt: components["schemas"]["Instant"] | null;
            /**
             * @description `apiKey:{keyId}` or `client:{clientId}`; null for the command line and the provisioning file.
             * @example apiKey:a1b2c3d4
             */
            createdBy: string | null;
            /** @description Null: never. */
            expiresAt: components["schemas"]["Instant"] | null;
            /** @description Null: not yet, or not since the service records it. */
            lastUsedAt: components["schemas"]["Instant"] | null;
            /** @description The credential that this request was sent with. */
            isCaller: boolean;
            /** @enum {string} */
            state: "active" | "expired" | "revoked";
            revokedAt: components["schemas"]["Instant"] | null;
            revokedBy: string | null;
        };
        IssuedApiKey: {
            /** @example a1b2c3d4 */
            keyId: string;
            /** @description Null: it has no name. */
            name: string | null;
            scopes: string[];
            /** @description Null: an older release created it. */
            createdAt: components["schemas"]["Instant"] | null;
            /**
             * @description `apiKey:{keyId}` or `client:{clientId}`; null for the command line and the provisioning file.
             * @example apiKey:a1b2c3d4
             */
            createdBy: string | null;
            /** @description Null: never. */
            expiresAt: components["schemas"]["Instant"] | null;
            /** @description Null: not yet, or not since the service records it. */
            lastUsedAt: components["schemas"]["Instant"] | null;
            /** @description The credential that this request was sent with. */
            isCaller: boolean;
            /** @enum {string} */
            state: "active" | "expired" | "revoked";
            revokedAt: components["schemas"]["Instant"] | null;
            revokedBy: string | null;
            /** @description The key itself. Only this answer has it. */
            apiKey: string;
        };
        OauthClientList: {
            clients: components["schemas"]["OauthClient"][];
            grantableScopes: string[];
            /** @description Null: there is no bound. */
            latestExpiresAt: components["schemas"]["Instant"] | null;
        };
        OauthClient: {
            /** @example client-a1b2c3d4 */
            clientId: string;
            /** @description Null: it has no name. */
            name: string | null;
            scopes: string[];
            /** @description Null: an older release created it. */
            createdAt: components["schemas"]["Instant"] | null;
            /**
             * @description `apiKey:{keyId}` or `client:{clientId}`; null for the command line and the provisioning file.
             * @example apiKey:a1b2c3d4
             */
            createdBy: string | null;
            /** @description Null: never. */
            expiresAt: components["schemas"]["Instant"] | null;
            /** @description Null: not yet, or not since the service records it. */
            lastUsedAt: components["schemas"]["Instant"] | null;
            /** @description The credential that this request was sent with. */
            isCaller: boolean;
            /** @enum {string} */
            state: "active" | "expired" | "disabled";
            disabledAt: components["schemas"]["Instant"] | null;
            disabledBy: string | null;
        };
        IssuedOauthClient: {
            /** @example client-a1b2c3d4 */
            clientId: string;
            /** @description Null: it has no name. */
            name: string | null;
            scopes: string[];
            /** @description Null: an older release created it. */
            createdAt: components["schemas"]["Instant"] | null;
            /**
             * @description `apiKey:{keyId}` or `client:{clientId}`; null for the command line and the provisioning file.
             * @example apiKey:a1b2c3d4
             */
            createdBy: string | null;
            /** @description Null: never. */
            expiresAt: components["schemas"]["Instant"] | null;
            /** @description Null: not yet, or not since the service records it. */
            lastUsedAt: components["schemas"]["Instant"] | null;
            /** @description The credential that this request was sent with. */
            isCaller: boolean;
            /** @enum {string} */
            state: "active" | "expired" | "disabled";
            disabledAt: components["schemas"]["Instant"] | null;
            disabledBy: string | null;
            /** @description The secret itself. Only this answer has it. */
            clientSecret: string;
        };
        /** @description One server-sent event: `event` and `id` are its fields of these names, and `data` is its data field, which is JSON. */
        StreamEvent: components["schemas"]["EffectiveLimitEvent"] | components["schemas"]["GridLimitEvent"] | components["schemas"]["OperatorLimitEvent"] | components["schemas"]["BuildingEvent"] | components["schemas"]["PeakShavingEvent"] | components["schemas"]["ProfileEvent"] | components["schemas"]["ProfileCancelledEvent"] | components["schemas"]["LockEvent"] | components["schemas"]["ConnectorLimitEvent"] | components["schemas"]["AlarmEvent"] | components["schemas"]["PowerEvent"] | components["schemas"]["FusesEvent"] | components["schemas"]["LoggedStreamEvent"] | components["schemas"]["GapEvent"] | components["schemas"]["ClosedEvent"];
        /** @description The limit by the location's own profiles changed. */
        EffectiveLimitEvent: {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            event: "effectiveLimit";
            /** @description Rises by one from event to event of the tenant, for as long as the process runs. */
            id: number;
            data: {
                locationId: string;
                at: components["schemas"]["Instant"];
                effectiveLimitKw: number;
            };
        };
        /** @description The limit in force of the location changed. */
        GridLimitEvent: {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            event: "gridLimit";
            /** @description Rises by one from event to event of the tenant, for as long as the process runs. */
            id: number;
            data: {
                locationId: string;
                at: components["schemas"]["Instant"];
                gridLimitKw: number;
            };
        };
        /** @description The grid operator's limit or its state changed. */
        OperatorLimitEvent: {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            event: "operatorLimit";
            /** @description Rises by one from event to event of the tenant, for as long as the process runs. */
            id: number;
            data: {
                locationId: string;
                at: components["schemas"]["Instant"];
                /**
                 * @description INIT: no order yet, the fail-safe limit holds. LIMITED: an order holds. UNLIMITED_CONTROLLED: the operator sends heartbeats and does not limit. FAILSAFE: its heartbeats are missing, the fail-safe limit holds. UNLIMITED_AUTONOMOUS: they stayed missing, the location's own limits apply.
                 * @enum {string}
                 */
                state: "INIT" | "UNLIMITED_CONTROLLED" | "LIMITED" | "FAILSAFE" | "UNLIMITED_AUTONOMOUS";
                since: components["schemas"]["Instant"];
                /** @description The operator's limit for the location, kW; null without one. */
                limitKw: number | null;
                /** @description Sender of the last order; null if none counts. */
                source: string | null;
                sentAt: components["schemas"]["Instant"] | null;
                /** @description End of the order; null if it has none. */
                endsAt: components["schemas"]["Instant"] | null;
            };
        };
        /** @description The building load, or the state of its meter, changed. */
        BuildingEvent: {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            event: "building";
            /** @description Rises by one from event to event of the tenant, for as long as the process runs. */
            id: number;
            data: {
                locationId: string;
                at: components["schemas"]["Instant"];
                /**
                 * @description FRESH: its last reading counts. FADING: it is late, and the building counts as more and more. STALE: it is silent. DISTRUSTED: its readings are implausible. In the last two the building counts as its provisioned maximum.
                 * @enum {string}
                 */
                state: "STALE" | "FRESH" | "FADING" | "DISTRUSTED";
                /** @description Building load, kW: its highest value in the last minute. */
                buildingKw: number;
                /** @description Building reserve, kW: power kept free for the building load to rise. */
                reserveKw: number;
                /** @description Power left for the chargers, kW. */
                leavesKw: number;
            };
        };
        /** @description The power that peak shaving leaves changed. */
        PeakShavingEvent: {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            event: "peakShaving";
            /** @description Rises by one from event to event of the tenant, for as long as the process runs. */
            id: number;
            data: {
                locationId: string;
                at: components["schemas"]["Instant"];
                windowStartsAt: components["schemas"]["Instant"];
                windowEndsAt: components["schemas"]["Instant"];
                /** @description Import in this window, kWh; unreported import counts with its highest possible value. */
                usedKwh: number;
                /** @description Power left for the chargers until the window ends, kW. */
                leavesKw: number;
            };
        };
        /** @description The window of a profile began or ended. */
        ProfileEvent: {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            event: "profile";
            /** @description Rises by one from event to event of the tenant, for as long as the process runs. */
            id: number;
            data: {
                locationId: string;
                at: components["schemas"]["Instant"];
                priority: number;
                limitKw: number;
                startTime: components["schemas"]["Instant"];
                endTime: components["schemas"]["Instant"];
                status: components["schemas"]["ProfileStatus"];
            };
        };
        /** @description A profile was cancelled; the event has its end. */
        ProfileCancelledEvent: {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            event: "profileCancelled";
            /** @description Rises by one from event to event of the tenant, for as long as the process runs. */
            id: number;
            data: {
                locationId: string;
                at: components["schemas"]["Instant"];
                priority: number;
                limitKw: number;
                startTime: components["schemas"]["Instant"];
                endTime: components["schemas"]["Instant"];
                status: components["schemas"]["ProfileStatus"];
            };
        };
        /** @description A connector was locked, its lock changed, or it was unlocked (`limitKw` null). */
        LockEvent: {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            event: "lock";
            /** @description Rises by one from event to event of the tenant, for as long as the process runs. */
            id: number;
            data: {
                locationId: string;
                at: components["schemas"]["Instant"];
                controllerUuid: string;
                connectorId: string;
                limitKw: number | null;
            };
        };
        /** @description A connector received another limit, or the same for another reason. */
        ConnectorLimitEvent: {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            event: "connectorLimit";
            /** @description Rises by one from event to event of the tenant, for as long as the process runs. */
            id: number;
            data: {
                locationId: string;
                at: components["schemas"]["Instant"];
                controllerUuid: string;
                connectorId: string;
                limitA: number;
                limitKw: number;
                /** @enum {string} */
                reason: "maximum" | "demand" | "fairShare" | "clusterShare" | "departure" | "waiting" | "paused" | "minimumPause" | "lock" | "lastResort" | "idle" | "failsafe" | "nonCompliant" | "readOnly" | "reserved";
            };
        };
        /** @description An alarm began, changed its reason, or ended. */
        AlarmEvent: {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            event: "alarm";
            /** @description Rises by one from event to event of the tenant, for as long as the process runs. */
            id: number;
            data: components["schemas"]["Alarm"];
        };
        /** @description The power of the location changed: at most once a second. */
        PowerEvent: {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            event: "power";
            /** @description Rises by one from event to event of the tenant, for as long as the process runs. */
            id: number;
            data: {
                locationId: string;
                at: components["schemas"]["Instant"];
                actualKw: number;
                /** @description Estimated part of `actualKw`, for silent connectors, at most their entitlements; null if all is measured. */
                estimatedKw: number | null;
            };
        };
        /** @description The load of a phase of a fuse changed: at most once a second. */
        FusesEvent: {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            event: "fuses";
            /** @description Rises by one from event to event of the tenant, for as long as the process runs. */
            id: number;
            data: {
                locationId: string;
                at: components["schemas"]["Instant"];
                fuses: components["schemas"]["FuseLive"][];
            };
        };
        /** @description With `events=logged`: an event of the log. */
        LoggedStreamEvent: {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            event: "logged";
            /** @description Of the event log: as `id` of its data. */
            id: number;
            data: components["schemas"]["LoggedEvent"];
        };
        /** @description With `events=logged`: events after the id `after` are no longer kept, or it is unknown. Read the present state again. */
        GapEvent: {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            event: "gap";
            data: {
                after: string;
            };
        };
        /** @description The last event: the reason for the end of the stream, as in the error envelope. */
        ClosedEvent: {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            event: "closed";
            data: {
                /** @enum {string} */
                code: "INVALID_REQUEST_BODY" | "TARGET_INACTIVE" | "CLUSTER_EMPTY" | "CLUSTER_INACTIVE" | "UNAUTHORIZED" | "FEATURE_NOT_ENABLED" | "INSUFFICIENT_SCOPE" | "LOCATION_NOT_FOUND" | "CHARGER_NOT_FOUND" | "CLUSTER_NOT_FOUND" | "PROFILE_NOT_FOUND" | "SESSION_NOT_FOUND" | "NOT_FOUND" | "METHOD_NOT_ALLOWED" | "REQUEST_IN_PROGRESS" | "PRECONDITION_FAILED" | "PAYLOAD_TOO_LARGE" | "UNSUPPORTED_MEDIA_TYPE" | "IDEMPOTENCY_KEY_REUSED" | "RATE_LIMITED" | "INTERNAL_ERROR" | "SERVICE_UNAVAILABLE";
                message: string;
                /** Format: uuid */
                requestId: string;
            };
        };
        Health: {
            /** @enum {string} */
            status: "ok" | "degraded";
            version: string;
            uptimeSeconds: number;
            /**
             * @description If several nodes stand by for each other: this one runs (active), or waits and forwards (standby). `front`: chargers connect to it, and nodes decide.
             * @enum {string}
             */
            role?: "active" | "standby" | "front";
            /** @description If several nodes share the tenants: the shards that this one owns. */
            shards?: {
                held: number[];
                of: number;
            };
            checks: {
                /**
                 * @description Left out by a front, which goes on without it.
                 * @enum {string}
                 */
                database?: "ok" | "failing";
                /**
                 * @description Of a node that runs, and of a front.
                 * @enum {string}
                 */
                broker?: "ok" | "failing";
                /**
                 * @description Of a front: its connection to NATS.
                 * @enum {string}
                 */
                bus?: "ok" | "failing";
                /**
                 * @description Of a node that runs.
                 * @enum {string}
                 */
                scheduler?: "ok" | "failing";
                /**
                 * @description Of a node that stands by: failing if no other node runs.
                 * @enum {string}
                 */
                active?: "ok" | "failing";
                /**
                 * @description Of a node that stands by, or shares the tenants: failing if its clock and the database's differ by more than 2 s.
                 * @enum {string}
                 */
                clock?: "ok" | "failing";
            };
        };
        TokenResponse: {
            access_token: string;
            /** @constant */
            token_type: "Bearer";
            /**
             * @description Seconds.
             * @example 3600
             */
            expires_in: number;
            scope: string;
        };
        TokenError: {
            error: {
                /** @enum {string} */
                code: "INVALID_REQUEST_BODY" | "TARGET_INACTIVE" | "CLUSTER_EMPTY" | "CLUSTER_INACTIVE" | "UNAUTHORIZED" | "FEATURE_NOT_ENABLED" | "INSUFFICIENT_SCOPE" | "LOCATION_NOT_FOUND" | "CHARGER_NOT_FOUND" | "CLUSTER_NOT_FOUND" | "PROFILE_NOT_FOUND" | "SESSION_NOT_FOUND" | "NOT_FOUND" | "METHOD_NOT_ALLOWED" | "REQUEST_IN_PROGRESS" | "PRECONDITION_FAILED" | "PAYLOAD_TOO_LARGE" | "UNSUPPORTED_MEDIA_TYPE" | "IDEMPOTENCY_KEY_REUSED" | "RATE_LIMITED" | "INTERNAL_ERROR" | "SERVICE_UNAVAILABLE";
                message: string;
                /** Format: uuid */
                requestId: string;
            };
            error_description: string;
        };
        /**
         * @example {
         *       "departureTime": "2030-06-01T17:00:00Z",
         *       "energyNeedKwh": 22,
         *       "minimumEnergyKwh": 5
         *     }
         */
        ChargingPreferencesOutput: {
            /**
             * @description Instant at which the car leaves.
             * @example 2030-06-01T17:00:00Z
             */
            departureTime?: components["schemas"]["Instant"];
            /**
             * @description Energy that the car needs from its arrival to its departure, kWh.
             * @example 22
             */
            energyNeedKwh?: number;
            /**
             * @description Energy that the car receives before any car gets more than its own minimum, kWh.
             * @example 5
             */
            minimumEnergyKwh?: number;
            /**
             * @description From 0 to 10. A car with a higher priority precedes; 0 if left out.
             * @example 3
             */
            priority?: number;
            /**
             * @description Capacity of the battery, kWh. With a reported `socPercent` it gives the need if no source declares `energyNeedKwh`.
             * @example 60
             */
            batteryCapacityKwh?: number;
            /**
             * @description State of charge that the car needs at its departure, %; 100 if left out.
             * @example 80
             */
            targetSocPercent?: number;
        };
    };
    responses: never;
    parameters: never;
    requestBodies: never;
    headers: never;
    pathItems: never;
}
export type $defs = Record<string, never>;
export type operations = Record<string, never>;
