import type { ServedModel } from '../domain/catalog/catalog.ts'
import { readFile } from 'node:fs/promises'
import { readFileSync } from 'node:fs'
import { parseChannels } from '../app/channels/load.ts'
import { sandboxChannels } from '../app/channels/sandbox.ts'
import { catalog, channelFamilies, families } from '../families/index.ts'
import { readConfiguredBook, requirePrices } from '../app/finance/prices/required-prices.ts'
import { bookOf, publishedBooks } from '../app/finance/prices/publish.ts'
import { servedModels } from '../app/channels/served-models.ts'
import type { Channel } from '../app/ports/provider.ts'
import { readVariable, type Config, ConfigError } from '../config.ts'
import { messageOf } from './explain.ts'
import { withLog } from './session.ts'

/** The configured accounts, undefined without any. @throws ConfigError; ChannelFileError naming every fault */
export async function readChannels(config: Config): Promise<readonly Channel[] | undefined> {
  if (config.channelsFile === undefined) return undefined
  return parseChannels(channelFamilies, await readChannelsFile(config.channelsFile), (source) =>
    'env' in source ? readVariable(source.env) : readSecretFile(source.file),
  )
}

/**
 * What a gateway of this configuration serves; undefined where only its own machine knows. No
 * credential is needed for that. @throws ChannelFileError naming every fault
 */
export async function readServedModels(
  config: Config,
): Promise<readonly ServedModel[] | undefined> {
  if (config.channelsFile !== undefined) {
    const text = await readChannelsFile(config.channelsFile)
    return servedModels(parseChannels(channelFamilies, text, () => 'not read'))
  }
  return config.sandbox ? servedModels(channelsOfSandbox('http://sandbox')) : undefined
}

/** The accounts of a sandbox at this address. */
export function channelsOfSandbox(baseUrl: string): readonly Channel[] {
  const accounts = families.flatMap(({ sandbox }) => sandbox)
  return sandboxChannels(catalog, accounts, { baseUrl })
}

async function readChannelsFile(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8')
  } catch (error) {
    throw new ConfigError([`CHANNELS_FILE cannot be read: ${messageOf(error)}`])
  }
}

/**
 * Checks that configured accounts serve nothing that has no price. The log is asked only where the
 * price book of the configuration lacks one: a published book may have it. @throws UnpricedModelsError
 */
export async function requirePricesOf(config: Config, channels: readonly Channel[]): Promise<void> {
  const book = await readConfiguredBook(config.priceBookFile)
  const needed = { catalog, served: servedModels(channels), book, inPart: false }
  try {
    requirePrices({ ...needed, published: [] })
  } catch (lacking) {
    if (config.external === undefined) throw lacking
    const books = await withLog(({ log }) => publishedBooks(log)).catch(() => [])
    requirePrices({ ...needed, published: books.flatMap(({ entries }) => entries) })
  }
}

/** Checks the file of prices, if there is one. @throws ConfigError */
export async function requirePriceBook({ priceBookFile }: Config): Promise<void> {
  if (priceBookFile === undefined) return
  try {
    bookOf(catalog, { yamlText: await readFile(priceBookFile, 'utf8'), demonstrations: true })
  } catch (error) {
    throw new ConfigError([`PRICEBOOK_FILE ${priceBookFile} cannot be used: ${messageOf(error)}`])
  }
}

function readSecretFile(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return undefined
  }
}
