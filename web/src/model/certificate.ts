// The arithmetic of a certificate, checked where it is shown: reserved never above what the class may reserve of the link.
// railweave-verify walks the routes as well; this is the quick look.
import type { Schema } from '../api/client';

export interface CertificateCheck {
  links: number;
  jobs: number;
  problems: string[];
}

export function checkCertificate(certificate: Schema['Certificate']): CertificateCheck {
  const problems: string[] = [];
  const names = certificate.classes.map((item) => item.name);
  for (const link of certificate.links) {
    const usable = (link.capacityMbps * certificate.usablePermille) / 1000;
    const sum = link.reservedMbps.reduce((all, one) => all + one, 0);
    if (link.reservedMbps.length !== names.length) problems.push(`${link.from}->${link.to}: ${link.reservedMbps.length} classes reserved, ${names.length} exist`);
    if (sum > usable + 0.5) problems.push(`${link.from}->${link.to}: ${sum} Mb/s reserved of ${usable} usable`);
  }
  const down = new Set(certificate.linksDown);
  for (const link of certificate.links) {
    const id = link.from < link.to ? `${link.from}--${link.to}` : `${link.to}--${link.from}`;
    if (down.has(id)) problems.push(`${id} is down, but capacity is reserved on it`);
  }
  for (const job of certificate.jobs) {
    if (!names.includes(job.class)) problems.push(`${job.job}: there is no class ${job.class}`);
    if (!job.ports && !job.flows) problems.push(`${job.job}: neither ports nor flows are promised anything`);
  }
  return { links: certificate.links.length, jobs: certificate.jobs.length, problems };
}
