/** Checks the address of an upstream; `where` is its place in the channel file. */
export function checkBaseUrl(text: string, where: string, faults: string[]): void {
  if (!URL.canParse(text)) {
    faults.push(`${where} is not a URL`)
    return
  }
  const url = new URL(text)
  if (url.protocol !== 'https:' && url.protocol !== 'http:')
    faults.push(`${where} must be http or https`)
  if (url.username !== '' || url.password !== '' || url.search !== '' || url.hash !== '')
    faults.push(`${where} must not carry credentials, a query or a fragment`)
}
