import type { FastifyInstance } from 'fastify'
import type { Principal } from '../app/access/principal.ts'
import type { Place } from './kit/layout.tsx'
import type { ConsoleServices } from './page.tsx'

/** Subjects of the console: each is a folder, whose `routes.ts` says what the console has of it. */
export interface Subject {
  /** The place of the subject in the head of every page, and who sees it there. */
  readonly place?: Place & { readonly isShownTo: (token: Principal) => boolean }
  /** Registers its pages and their forms. */
  readonly register: (app: FastifyInstance, services: ConsoleServices) => void
}

/** The places that a token sees in the head, in the order of the subjects. */
export function placesFor(subjects: readonly Subject[], token: Principal): readonly Place[] {
  return subjects.flatMap(({ place }) =>
    place === undefined || !place.isShownTo(token) ? [] : [place],
  )
}
