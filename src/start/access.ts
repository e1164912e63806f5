import type { Registry } from 'prom-client'
import {
  type Authenticator,
  createAuthenticator,
  followTokens,
} from '../app/access/authenticate.ts'
import { createLastUses, startWriting } from '../app/accounts/last-uses.ts'
import { followAccounts } from '../app/accounts/account-facts.ts'
import { noLimits } from '../app/spending/throttle/limits.ts'
import { createRefusals, type Refusals, startWritingRefusals } from '../app/support/refusals.ts'
import { startExchangeLoop } from '../app/queue/exchange-loop.ts'
import { shareThrough } from '../app/spending/throttle/allowance.ts'
import type { Dependencies } from './compose.ts'
import type { Config } from '../config.ts'

/**
 * Access in a process with callers: tokens and their tenants' prices as events of the log change
 * them, the use of limits that replicas report to each other, when each token was last used, and what
 * it was refused.
 */
export async function startAccess({
  config,
  deps,
  registry,
  onStop,
}: {
  readonly config: Pick<
    Config,
    'rateLimits' | 'queries' | 'accountRequestsPerMinute' | 'unknownTokensPerMinute'
  >
  readonly deps: Pick<Dependencies, 'tasks' | 'facts'>
  readonly registry: Registry
  readonly onStop: (close: () => Promise<unknown>) => void
}): Promise<{
  readonly authenticator: Pick<Authenticator, 'authenticate' | 'resume' | 'recall'>
  readonly tokenUsed: (tokenId: string) => void
  readonly tokenRefused: Refusals['count']
  /** Sets what is called with each token that is disabled. */
  readonly onDisabled: (listener: (tokenId: string) => void) => void
}> {
  let onDisabled: (tokenId: string) => void = () => undefined
  const { pool, log, clock, logger, throttle } = deps.tasks
  const authenticator = createAuthenticator({
    ...deps.tasks,
    defaultLimits: config.rateLimits,
    registry,
    unknownPerMinute: config.unknownTokensPerMinute,
    queryLimits: { ...noLimits, requestsPerMinute: config.queries.requestsPerMinute },
    accountLimits: { ...noLimits, requestsPerMinute: config.accountRequestsPerMinute },
  })
  const stopping = new AbortController()
  const { signal } = stopping
  const tokens = await followTokens({
    pool,
    log,
    authenticator,
    onDisabled: (tokenId) => onDisabled(tokenId),
    logger,
    signal,
  })
  const accounts = await followAccounts({ log, facts: deps.facts, logger, signal })
  onStop(async () => (stopping.abort(), Promise.all([tokens.done, accounts.done])))
  const share = shareThrough(pool)
  const sharing = startExchangeLoop({
    exchange: () => throttle.rates.exchange(share),
    of: 'rate limits',
    logger,
  })
  onStop(() => sharing.stop())
  const lastUses = createLastUses(pool, clock)
  const writing = startWriting(lastUses, logger)
  onStop(() => writing.stop())
  const refusals = createRefusals(pool, clock, registry)
  onStop(startWritingRefusals(refusals, logger).stop)
  return {
    authenticator,
    tokenUsed: lastUses.used,
    tokenRefused: refusals.count,
    onDisabled: (listener) => (onDisabled = listener),
  }
}
