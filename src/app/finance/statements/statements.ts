import { failureFields } from '../../../kernel/errors.ts'
import type { Log } from '../../../kernel/log.ts'
import { boardOf, monthsOf } from './board.ts'
import { boardPageOf } from './board-page.ts'
import { type CloseDeps, type Closed, closeMonth } from './close.ts'
import { readClosingAccount } from './closing-account.ts'
import { openPeriod, previewMonth } from './preview.ts'
import { createProofs } from './proofs.ts'
import type {
  CloseInput,
  CloseOutcome,
  ClosedPeriod,
  MonthOf,
  StatementContext,
  Statements,
} from './types.ts'

/** The use cases of closed months. */
export function createStatements(deps: CloseDeps & { readonly logger: Log }): Statements {
  /** Closes under way: a second request joins the first. */
  const closing = new Map<string, Promise<Closed>>()
  const close = (input: CloseInput, context: StatementContext): Promise<Closed> => {
    const { tenantId, currency, month } = input
    const key = JSON.stringify([tenantId, currency, month])
    const running = closing.get(key)
    if (running !== undefined) return running.then(({ period }) => ({ period, created: false }))
    const closed = closeMonth(deps, input, context).finally(() => closing.delete(key))
    closing.set(key, closed)
    return closed
  }
  const all = new Map<string, ReturnType<Statements['closeAll']>>()
  return {
    close,
    closeUntil: (input, context) => closeUntil(deps, close, input, context),
    closeAll: (input, context) => {
      const key = JSON.stringify([input.month, input.currency])
      const running = all.get(key)
      if (running !== undefined) return running
      const begun = closeReady(deps, close, input, context)
      all.set(key, begun)
      const end = (): boolean => all.delete(key)
      begun.then(({ done }) => done.then(end), end)
      return begun
    },
    preview: (of) => previewMonth(deps, of),
    openPeriod: (of) => openPeriod(deps, of),
    board: (input) => boardOf(deps, input),
    boardPage: (input) => boardPageOf(deps, input),
    months: (account) => monthsOf(deps, account),
    ...createProofs(deps),
  }
}

type Close = Statements['close']

async function* closeUntil(
  deps: CloseDeps,
  close: Close,
  { until, ...input }: Omit<CloseInput, 'month'> & { readonly until: string },
  context: StatementContext,
): AsyncGenerator<ClosedPeriod> {
  for (;;) {
    const { next } = await readClosingAccount(deps, input)
    if (next.month > until) return
    yield (await close({ ...input, month: next.month }, context)).period
  }
}

/** Closes the accounts of a month that nothing blocks, one after the other. */
async function closeReady(
  deps: CloseDeps & { readonly logger: Log },
  close: Close,
  input: Parameters<Statements['closeAll']>[0],
  context: StatementContext,
): ReturnType<Statements['closeAll']> {
  const rows = await boardOf(deps, { ...input, tenantIds: undefined })
  const open = rows.flatMap((row) => (row.status === 'open' ? [row] : []))
  const ready = open.filter(({ blockers }) => blockers.length === 0)
  const closeEach = async (): Promise<readonly CloseOutcome[]> => {
    const outcomes: CloseOutcome[] = []
    for (const { tenantId, currency, month } of ready)
      outcomes.push(await outcomeOf(deps.logger, close, { tenantId, currency, month }, context))
    return outcomes
  }
  return { closing: ready.length, blocked: open.length - ready.length, done: closeEach() }
}

/** One account that cannot be closed does not keep the others open. */
async function outcomeOf(
  logger: Log,
  close: Close,
  of: MonthOf,
  context: StatementContext,
): Promise<CloseOutcome> {
  try {
    return { ...of, period: (await close(of, context)).period }
  } catch (error) {
    logger.warn({ ...failureFields(error), ...of }, 'a month was not closed')
    return { ...of, error }
  }
}
