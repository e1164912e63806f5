import type { QueryConfig, QueryResult, QueryResultRow } from 'pg'

/** The part of Postgres that a query needs: a pool, or one client of it inside a transaction. */
export interface Queryable {
  query<Row extends QueryResultRow>(config: QueryConfig): Promise<QueryResult<Row>>
  query<Row extends QueryResultRow>(
    text: string,
    values?: readonly unknown[],
  ): Promise<QueryResult<Row>>
}
