/** Of a web URL. */
export const MAX_URL_LENGTH = 8_192

/** Whether a text is an `https:` or `http:` URL as every reader takes it; its host is not judged. */
export function isWebUrl(url: string): boolean {
  // The parser forgives blanks and missing slashes that an upstream would not.
  if (!/^https?:\/\/[^\s/]/i.test(url) || /[\s\p{Cc}]/u.test(url)) return false
  return URL.canParse(url)
}
