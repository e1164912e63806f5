import type { Channel, SandboxAccount } from '../ports.ts'
import { fillIn } from './load.ts'

/** Where the sandbox is, and what tests want otherwise. */
export interface SandboxPlace {
  /** `http://host:port` of the sandbox. */
  readonly baseUrl: string
  readonly credential?: string
  readonly timeoutMs?: number
}

/** What is used when no channels are configured: an account on the sandbox for every model. */
export function sandboxChannels(
  accounts: readonly SandboxAccount[],
  { baseUrl, credential = 'sandbox', timeoutMs }: SandboxPlace,
): readonly Channel[] {
  const address = baseUrl.replace(/\/+$/, '')
  return accounts.map(({ path, ...account }) =>
    fillIn({
      ...account,
      baseUrl: `${address}${path}`,
      credential,
      ...(timeoutMs === undefined ? {} : { timeoutMs }),
    }),
  )
}
