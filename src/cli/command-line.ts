import { CommanderError } from 'commander'
import { ConfigError } from '../config.ts'
import { ENVIRONMENT_FILE } from '../environment.ts'
import { exitCodeOf, exitCodes } from './exit-codes.ts'
import { explain, messageOf } from './explain.ts'
import { note, OutputClosedError } from './output.ts'
import { createProgram } from './program.ts'

/** Takes settings from the file, if there is one; what the environment says already wins. */
function readEnvironmentFile(): void {
  try {
    process.loadEnvFile(ENVIRONMENT_FILE)
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return
    throw new ConfigError([`${ENVIRONMENT_FILE} cannot be read: ${messageOf(error)}`])
  }
}

/** The list of failures that mean an absent store is loaded only for a failure. */
async function exitCodeOfFailure(error: unknown): Promise<number> {
  const code = exitCodeOf(error)
  if (code !== exitCodes.failed) return code
  const { unavailableStoreOf } = await import('./store-outage.ts')
  return unavailableStoreOf(error) === undefined ? code : exitCodes.startAgain
}

/** Runs a command to its end; prints its failure and sets `process.exitCode`. */
export async function runCommandLine(version: string, args: readonly string[]): Promise<void> {
  try {
    readEnvironmentFile()
    const program = await createProgram(version, args[0])
    await program.parseAsync(args, { from: 'user' })
  } catch (error) {
    if (error instanceof OutputClosedError) return
    // Commander has already printed the usage error or the help.
    if (error instanceof CommanderError) {
      process.exitCode = error.exitCode === 0 ? exitCodes.inOrder : exitCodes.usage
      return
    }
    note(`tollgate: ${explain(error)}`)
    process.exitCode = await exitCodeOfFailure(error)
  }
}
