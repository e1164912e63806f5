import { setImmediate } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { ANSWERED } from '../../src/api/kit/routes/log-lines.ts'
import { createProcessLog } from '../../src/cli/log-output.ts'

/** Lines of 1 kB: several times what may wait. */
export const FLOOD_LINES = 16_000
const PER_TURN = 100
const TEXT = 'a'.repeat(1_000)

/** Writes lines of requests faster than they are read, then another one, and says on stderr how many were lost. */
async function flood(): Promise<void> {
  const { logger, lostLines } = createProcessLog('info', 1)
  for (let n = 0; n < FLOOD_LINES; n += 1) {
    logger.info({ n, text: TEXT }, ANSWERED)
    if (n % PER_TURN === 0) await setImmediate()
  }
  logger.error('the disk is full')
  process.stderr.write(`lost ${lostLines()}`)
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await flood()
