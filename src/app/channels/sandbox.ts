import type { Catalog } from '../../domain/catalog/catalog.ts'
import type { AssetLibrary, Channel, SandboxAccount } from '../ports/provider.ts'
import { fillIn } from './load.ts'

/** The key of the sandbox's asset libraries, which accept no other. */
export const sandboxLibraryKey = {
  accessKeyId: 'AKSANDBOX',
  secretAccessKey: 'SKSANDBOX+secret/==',
} as const

/** The sandbox's address, with overrides for tests. */
export interface SandboxPlace {
  /** `http://host:port` of the sandbox. */
  readonly baseUrl: string
  readonly credential?: string
  readonly timeoutMs?: number
}

/** The channels when none are configured: a sandbox account for every model. */
export function sandboxChannels(
  catalog: Catalog,
  accounts: readonly SandboxAccount[],
  { baseUrl, credential = 'sandbox', timeoutMs }: SandboxPlace,
): readonly Channel[] {
  const address = baseUrl.replace(/(?<!\/)\/+$/, '')
  return accounts.map(({ path, library, ...account }) =>
    fillIn(catalog, {
      ...account,
      baseUrl: `${address}${path}`,
      credential,
      ...(library && { library: libraryAt(address, library) }),
      ...(timeoutMs === undefined ? {} : { timeoutMs }),
    }),
  )
}

function libraryAt(
  address: string,
  { path, ...library }: NonNullable<SandboxAccount['library']>,
): AssetLibrary {
  return { ...library, ...sandboxLibraryKey, baseUrl: `${address}${path}` }
}
