import { crashPointFrom } from '../app/crash-points.ts'
import type { Statements } from '../app/finance/statements/types.ts'
import { systemClock } from '../kernel/clock.ts'
import { openStatements } from '../start/statements.ts'
import { markerSecretOf } from './marker-secret.ts'
import type { Session } from './session.ts'

/** Closed months, for commands. */

type Sources = Pick<Session, 'config' | 'pool' | 'log' | 'logger' | 'databaseUrl'>

function opened({ pool: db, ...session }: Sources, markerSecret: string) {
  const { config, log } = session
  const crashPoint = crashPointFrom(config.crashAt)
  return openStatements({ ...session, markerSecret }, { log, db, clock: systemClock, crashPoint })
}

/** Closed months for a report, which signs nothing and so needs no secret. */
export function readStatements(
  session: Sources,
): Pick<ReturnType<typeof openStatements>, 'statements' | 'runJob'> {
  return opened(session, '')
}

/** Runs a command that closes months, and ends the process that built their trees. */
export async function withStatements<Done>(
  session: Sources,
  run: (statements: Statements) => Promise<Done>,
): Promise<Done> {
  const secret = await markerSecretOf(session.config, session.pool)
  const { statements, stop } = opened(session, secret)
  try {
    return await run(statements)
  } finally {
    await stop()
  }
}
