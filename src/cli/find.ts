import type { Command } from 'commander'
import { searchOver } from '../api/query/projection-reads.ts'
import { DEFAULT_FOUND, MAX_FOUND, readSearch } from '../api/query/search.ts'
import { RequestError } from '../api/kit/request-error.ts'
import { MAX_TEXT_CHARACTERS } from '../app/support/words.ts'
import { crashPointFrom } from '../app/crash-points.ts'
import { keyHashOf } from '../kernel/keyed-hash.ts'
import { families } from '../families/index.ts'
import { openFamilies } from '../families/module.ts'
import { isLongerThan } from '../kernel/characters.ts'
import { systemClock, wallClock } from '../kernel/clock.ts'
import { hasNul } from '../kernel/storable-text.ts'
import { JSON_OPTION, onStores, readModelsOf } from './command.ts'
import { markerSecretOf } from './marker-secret.ts'
import { CommandError, note, print, table, toJson, UsageError } from './output.ts'
import { operator, refusedAs } from './report.ts'
import type { Session } from './session.ts'

const FIND_HELP = `
The text is an id of any kind (of a call, an answer, a task, a request, a file, a provider, a line, a grant), its
beginning from six characters after the kind on, an Idempotency-Key, the last four characters of a token, a name,
or anything that holds ids, such as a line of a log in quotes. The exit code is 1 if nothing is found.

Examples:
  tollgate find chatcmpl-01M8BM4QZ6R3T8V5X2Y7W9ABCD
  tollgate find Bs5k --tenant acme
  tollgate find '{"error":{"request_id":"req_01M8BM4QZ6R3T8V5X2Y7W9ABCD"}}'`

interface FindOptions {
  readonly tenant?: string
  readonly day?: string
  readonly limit: string
  readonly json?: boolean
}

/** Registers `tollgate find`. */
export function addFind(program: Command): void {
  program
    .command('find')
    .description('what an id, a name or a pasted text stands for')
    .argument('<text>', 'an id, its beginning, a name, or a text that holds ids')
    .option('--tenant <id>', 'only of this tenant')
    .option('--day <date>', 'a day of UTC in which the request id of a provider is looked for')
    .option('--limit <number>', `the most rows, at most ${MAX_FOUND}`, String(DEFAULT_FOUND))
    .option(...JSON_OPTION)
    .addHelpText('after', FIND_HELP)
    .action(onStores(findCommand))
}

async function findCommand(session: Session, text: string, options: FindOptions): Promise<void> {
  const limit = Number(options.limit)
  if (!/^\d{1,2}$/.test(options.limit) || limit < 1 || limit > MAX_FOUND)
    throw new UsageError(`--limit must be from 1 to ${MAX_FOUND}`)
  if (text === '' || isLongerThan(text, MAX_TEXT_CHARACTERS) || hasNul(text))
    throw new UsageError(`the text must have 1 to ${MAX_TEXT_CHARACTERS} characters`)
  const behind: string[] = []
  for (const name of ['timeline', 'ledger', 'access'])
    if (!(await session.caughtUp(name))) behind.push(name)
  if (behind.length > 0) note(`${behind.join(', ')}: behind the log, the latest is not found`)
  const { tenant, day } = options
  const query = { q: text, limit, ...(tenant && { tenant_id: tenant }), ...(day && { day }) }
  const found = await searched(session, query).catch((error: unknown) => {
    throw error instanceof RequestError ? refusedAs(error.message, error) : error
  })
  if (options.json) print(toJson(found))
  else if (found.items.length > 0)
    for (const line of table(
      ['at', 'kind', 'id', 'tenant', 'state', 'summary', 'see'],
      found.items.map((item) => [
        item.at,
        item.kind,
        item.id,
        item.tenant_id,
        item.state,
        item.summary,
        item.command ?? '',
      ]),
    ))
      print(line)
  for (const hint of found.hints) note(hint)
  if (found.more) note(`there is more: --limit shows up to ${MAX_FOUND}`)
  if (found.items.length === 0) throw new CommandError('nothing was found')
}

/** Searches as an operator; the families read the ids that they sealed. */
async function searched(
  { pool: db, log, config }: Session,
  query: Parameters<typeof readSearch>[2],
) {
  const markerSecret = await markerSecretOf(config, db)
  const clock = systemClock
  const crashPoint = crashPointFrom(undefined)
  const deps = { log, clock, upstreamClock: wallClock, markerSecret, crashPoint }
  const { callOfAnswer, close } = openFamilies(families, deps)
  try {
    const search = searchOver({
      db,
      logEnd: () => log.endPosition(),
      readModels: readModelsOf({ pool: db, log }),
      clock,
      keyHash: (key) => keyHashOf(markerSecret, key),
      callOfAnswer,
    })
    return await readSearch({ search }, operator, query)
  } finally {
    await close()
  }
}
