import type { FastifyInstance } from 'fastify'
import type { Principal } from '../app/access/principal.ts'
import type { Place } from './kit/layout.tsx'
import type { ConsoleServices } from './page.tsx'

/** Subjects of the console: each is a folder, whose `routes.ts` says what the console has of it. */
export interface Subject {
  /** The place of the subject in the head of every page, and who sees it there. */
  readonly place?: Omit<Place, 'waiting' | 'alert'> & {
    readonly isShownTo: (token: Principal) => boolean
    /** How much waits there for a decision of the token's user, such as `3`; undefined: nothing. @throws what its reads throw */
    readonly waitingFor?: (
      services: ConsoleServices,
      token: Principal,
    ) => Promise<string | undefined>
    /** What every page of those who see the place warns of; undefined: nothing. It waits for no store. */
    readonly alertOf?: (services: ConsoleServices) => string | undefined
  }
  /** Registers its pages and their forms. */
  readonly register: (app: FastifyInstance, services: ConsoleServices) => void
}

/**
 * The places that a token sees in the head, in the order of the subjects. A count that cannot be read is left
 * out, and all are for a session that is only recalled, because they are read from Postgres.
 */
export function placesFor(
  subjects: readonly Subject[],
  services: ConsoleServices,
  token: Principal,
  isRecalled = false,
): Promise<readonly Place[]> {
  const shown = subjects.flatMap(({ place }) => (place?.isShownTo(token) === true ? [place] : []))
  return Promise.all(
    shown.map(async ({ href, name, below, waitingFor, alertOf }) => ({
      href,
      name,
      ...(below && { below }),
      waiting: isRecalled ? undefined : await waitingFor?.(services, token).catch(() => undefined),
      alert: alertOf?.(services),
    })),
  )
}
