import type { PoolClient } from 'pg'
import type { AnyEventType } from '../../src/domain/any-event.ts'
import type { RecordedEvent } from '../../src/eventlog/log/types.ts'
import type { EventTable, StreamTable } from './audited-rows.ts'
import type { DeclaredTable } from './table.ts'

/**
 * A read model: idempotent, disposable, built only from events. Its tables live in their own
 * Postgres schema so that a rebuild can run beside it and be swapped in.
 */
export interface Projection {
  /** The name of the read model and of its live Postgres schema. */
  readonly name: string
  /** Raise it when tables or meaning change: the engine then rebuilds at start, or upgrades. */
  readonly version: number
  /**
   * SQL that makes the live tables of an older version those of this one, by that version, where that can be done
   * without the log; `search_path` is their schema. Of other versions they are built again.
   */
  readonly upgrades?: Readonly<Partial<Record<number, string>>>
  /** True if it has a subscription group alone, so that other projections never wait for it. */
  readonly ownGroup?: true
  /** DDL with unqualified table names; run with `search_path` set to the schema being built. */
  readonly tablesSql: string
  /**
   * DDL of the indexes that only queries need, `if not exists`: made once the first bulk of events
   * is in, which is many times faster than keeping them while it comes in.
   */
  readonly indexesSql?: string
  readonly handles: ReadonlySet<AnyEventType>
  /**
   * Applies a batch (only handled events, in order) inside the transaction that moves the
   * checkpoint; `search_path` is the schema being built. Throws only on impossible history.
   */
  readonly apply: (client: PoolClient, batch: readonly RecordedEvent[]) => Promise<void>
  /** Hash of all rows and the balances, to compare a rebuild with the live tables. */
  readonly digest: (client: PoolClient) => Promise<ProjectionDigest>
  /** The tables as they are declared. */
  readonly tables?: readonly DeclaredTable[]
  /** Tables that an audit compares with the log, stream by stream. */
  readonly streamTables?: readonly StreamTable[]
  /** Tables that an audit compares with the log, event by event. */
  readonly eventTables?: readonly EventTable[]
  /** Lines and money by tenant and SKU, where the read model has them. */
  readonly breakdown?: (client: PoolClient) => Promise<readonly BreakdownRow[]>
}

/** Charges of a tenant for one SKU in one currency. */
export interface BreakdownRow {
  readonly tenantId: string
  readonly sku: string
  readonly currency: string
  /** Number of lines, decimal. */
  readonly lines: string
  /** Exact decimal. */
  readonly amount: string
}

export interface ProjectionDigest {
  readonly rows: number
  readonly hash: string
  /** Hash of each table. */
  readonly tables: Readonly<Record<string, TableDigest>>
  /** Totals worth showing to a person, e.g. settled amount per currency. */
  readonly totals: Readonly<Record<string, string>>
}

export interface TableDigest {
  readonly rows: number
  /** Sum of the rows' hashes, decimal. */
  readonly sum: string
}
