import { CommanderError } from 'commander'
import { exitCodeOf } from './exit-codes.ts'
import { explain, messageOf } from './explain.ts'
import { CommandError, note, OutputClosedError } from './output.ts'
import { createProgram } from './program.ts'

/** Where somebody may keep settings: in the folder the program is started in. */
const ENVIRONMENT_FILE = '.env'

/** Takes settings from the file, if there is one; what the environment says already wins. */
function readEnvironmentFile(): void {
  try {
    process.loadEnvFile(ENVIRONMENT_FILE)
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return
    throw new CommandError(`${ENVIRONMENT_FILE} cannot be read: ${messageOf(error)}`)
  }
}

/** Runs a command to its end; what it says of a failure is said, and `process.exitCode` set. */
export async function runCommandLine(version: string, args: readonly string[]): Promise<void> {
  try {
    readEnvironmentFile()
    await createProgram(version).parseAsync(args, { from: 'user' })
  } catch (error) {
    if (error instanceof OutputClosedError) return
    // What was asked wrongly was said already, and so was what help there is.
    if (error instanceof CommanderError) {
      process.exitCode = error.exitCode
      return
    }
    note(`tollgate: ${explain(error)}`)
    process.exitCode = exitCodeOf(error)
  }
}
