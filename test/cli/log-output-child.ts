import { ANSWERED } from '../../src/api/kit/routes/log-lines.ts'
import { createProcessLog } from '../../src/cli/log-output.ts'

/** Writes the line of one request and ends. */
createProcessLog('info', 1).logger.info({ n: 1 }, ANSWERED)
