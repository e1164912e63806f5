import type { ComponentChildren, JSX } from 'preact'
import type { Principal } from '../../app/access/principal.ts'
import type { TokenRole } from '../../domain/token/events.ts'
import { failureOf, isDefect } from '../failure.ts'

/** A part of a page that may fail alone: the others stand. */

/** The facts of a panel, or the reason, in words, for which it has none. */
export type PanelFacts<Facts> = { readonly facts: Facts } | { readonly why: string }

/**
 * Reads the facts of a panel for a reader whose role may see them; the failures of the API become
 * words. @throws a defect
 */
export async function panelFacts<Facts>(
  { role }: Pick<Principal, 'role'>,
  roles: readonly TokenRole[],
  read: () => Promise<Facts>,
): Promise<PanelFacts<Facts>> {
  if (role !== undefined && !roles.includes(role))
    return { why: `Shown to the role ${roles.join(' or ')}; your token has the role ${role}.` }
  try {
    return { facts: await read() }
  } catch (error) {
    const failure = failureOf(error, '')
    if (isDefect(failure)) throw error
    return { why: failure.message }
  }
}

/** The next step after a failure that passes in a moment, or with a shorter time. */
const passing: Readonly<Record<number, string>> = {
  422: 'Choose a shorter time, or one tenant.',
  503: 'It may be behind the log, or a store may be unavailable. Load the page again in a moment.',
}

/** The facts of the main panel of a page, or the words of a failure that passes. @throws any other */
export async function factsOrWords<Facts>(read: () => Promise<Facts>): Promise<PanelFacts<Facts>> {
  try {
    return { facts: await read() }
  } catch (error) {
    const { status, message } = failureOf(error, '')
    const next = passing[status]
    if (next === undefined) throw error
    return { why: `${message}. ${next}` }
  }
}

export function Panel({
  id,
  title,
  children,
}: {
  readonly id: string
  readonly title: string
  readonly children: ComponentChildren
}): JSX.Element {
  return (
    <section class="panel" aria-labelledby={id}>
      <h2 id={id}>{title}</h2>
      {children}
    </section>
  )
}

/** A panel of facts, or of the words for their absence. */
export function FactsPanel<Facts>({
  id,
  title,
  of,
  show,
}: {
  readonly id: string
  readonly title: string
  readonly of: PanelFacts<Facts>
  readonly show: (facts: Facts) => ComponentChildren
}): JSX.Element {
  return (
    <Panel id={id} title={title}>
      {'why' in of ? <p class="note">{of.why}</p> : show(of.facts)}
    </Panel>
  )
}
