import type { Command } from 'commander'
import { placeOf } from '../eventlog/log/position.ts'
import { printPaced, toJson } from './output.ts'
import { parsePosition } from './replay/moment.ts'
import { withLog } from './session.ts'

/** Registers `tollgate events`. */
export function addEvents(program: Command): void {
  program
    .command('events')
    .description('print every event of the log as JSON lines')
    .option('--after <position>', 'only events after this position')
    .action(eventsCommand)
}

/** `tollgate events`: the log as JSON lines, as far as it goes at the moment. */
async function eventsCommand(options: { readonly after?: string }): Promise<void> {
  const from =
    options.after === undefined ? {} : { from: placeOf(parsePosition('--after', options.after)) }
  await withLog(async ({ log }) => {
    for await (const event of log.readAll(from)) await printPaced(toJson(event))
  })
}
