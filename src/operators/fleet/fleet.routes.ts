import type { ZodType } from 'zod';
import { listOf } from '../../http/input/wire-shapes.ts';
import { defineRoute, type Route } from '../../http/route.ts';
import { OPERATOR_ROUTE } from '../operator-access.ts';
import { alarmJson, ledgerCheckJson, poolJson, providerJson } from './fleet.schema.ts';
import type { FleetService } from './fleet.service.ts';

/** `/admin/v1/pools`, `…/providers`, `…/ledger/checks`, `…/alarms`: the health of the installation. */
export function fleetRoutes(fleet: FleetService): Route[] {
  return [
    list({
      path: '/admin/v1/pools',
      operationId: 'listPools',
      summary: 'List the engine pools with their waiting and running tasks and their capacity',
      row: poolJson,
      read: () => fleet.pools(),
    }),
    list({
      path: '/admin/v1/providers',
      operationId: 'listProviderHealth',
      summary: 'List providers and engines with their results in the last hour, by model',
      row: providerJson,
      read: () => fleet.providers(),
    }),
    list({
      path: '/admin/v1/ledger/checks',
      operationId: 'listLedgerChecks',
      summary: 'List the latest ledger check of each kind, and its age',
      row: ledgerCheckJson,
      read: () => fleet.checks(),
    }),
    list({
      path: '/admin/v1/alarms',
      operationId: 'listAlarms',
      summary: 'List what needs attention now, by the thresholds of the alerting rules',
      row: alarmJson,
      read: () => fleet.alarms(),
    }),
  ];
}

interface ListDefinition {
  readonly path: string;
  readonly operationId: string;
  readonly summary: string;
  readonly row: ZodType;
  readonly read: () => Promise<readonly object[]>;
}

function list({ row, read, ...definition }: ListDefinition): Route {
  return defineRoute({
    ...OPERATOR_ROUTE,
    ...definition,
    method: 'get',
    response: { status: 200, schema: listOf(row, definition.summary) },
    errors: [],
    async handle() {
      return { body: { data: await read() } };
    },
  });
}
