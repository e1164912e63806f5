import { parseArgs } from 'node:util'
import { exitCodeOf, exitCodes } from '../exit-codes.ts'
import { print, UsageError, watchOutput } from '../output.ts'
import { VERIFY_DESCRIPTION, VERIFY_FILES, VERIFY_HELP, VERIFY_KEY, verifyFiles } from './verify.ts'

/** `verify.mjs`: the command `tollgate verify` as one file that Node alone runs. */

const USAGE = 'usage: node verify.mjs <file...> --key <vkey>'
const HELP = `${USAGE}

${VERIFY_DESCRIPTION}

  <file...>     ${VERIFY_FILES}
  --key <vkey>  ${VERIFY_KEY}
${VERIFY_HELP}`

/** @throws UsageError for an option that is not known, or has no value */
function argumentsOf(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      allowPositionals: true,
      options: {
        key: { type: 'string', multiple: true, default: [] },
        help: { type: 'boolean', short: 'h', default: false },
      },
    })
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error), { cause: error })
  }
}

function run(args: readonly string[]): void {
  const { values, positionals } = argumentsOf(args)
  if (values.help) return print(HELP)
  verifyFiles(positionals, values.key, print)
}

watchOutput()
try {
  run(process.argv.slice(2))
} catch (error) {
  const message = error instanceof Error ? error.message : String(error)
  process.exitCode = exitCodeOf(error)
  const hint = process.exitCode === exitCodes.usage ? `\n${USAGE}, or --help` : ''
  process.stderr.write(`verify: ${message}${hint}\n`)
}
