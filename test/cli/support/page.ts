import { pageText, printedCalls } from '../../helpers/printed-calls.ts'
import { shell } from './tollgate.ts'

/** Begins the output of a section, as no command does. */
const MARK = '@@ '

const titleOf = (section: string): string => section.slice(0, section.indexOf('\n'))

/**
 * Runs every command of a page in one shell, and gives what each of its sections printed, by its
 * title. @throws where a command fails
 */
export async function runPage(
  path: string,
  baseUrl: string,
  folder: string,
): Promise<(title: string) => string> {
  const [preface = '', ...sections] = pageText(path).split('\n## ')
  const script = [
    printedCalls(preface, baseUrl),
    ...sections.map(
      (section) => `echo '${MARK}${titleOf(section)}'\n${printedCalls(section, baseUrl)}`,
    ),
  ].join('\n')
  const { code, stdout } = await shell(script, folder)
  if (code !== 0) throw new Error(`exit code ${code}: ${stdout}`)
  const said = new Map(
    stdout
      .split(new RegExp(`^${MARK}`, 'm'))
      .slice(1)
      .map((section) => [titleOf(section), section.slice(section.indexOf('\n') + 1)]),
  )
  return (title) => said.get(title) ?? ''
}
