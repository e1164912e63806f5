/** Why the embedded Postgres cannot serve, in words for the operator. */
export class PostgresFailure extends Error {
  readonly code = 'embedded_postgres_failed'

  constructor(message: string) {
    super(message)
    this.name = 'PostgresFailure'
  }
}
