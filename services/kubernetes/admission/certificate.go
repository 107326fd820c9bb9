package admission

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// ConfigurationName is that of both webhook configurations, and of the secret with the certificate.
const ConfigurationName = "railweave-webhook"

const validFor = 10 * 365 * 24 * time.Hour

// Certificate is the one that all replicas serve the webhooks with: made by the first, kept in a secret.
func Certificate(ctx context.Context, api client.Client, namespace string, hosts []string) (tls.Certificate, []byte, error) {
	at := client.ObjectKey{Namespace: namespace, Name: ConfigurationName}
	for {
		secret := &corev1.Secret{}
		err := api.Get(ctx, at, secret)
		if err == nil {
			pair, err := tls.X509KeyPair(secret.Data[corev1.TLSCertKey], secret.Data[corev1.TLSPrivateKeyKey])
			if err != nil {
				return pair, nil, fmt.Errorf("secret %s has no certificate and key; delete it to have one made: %w", at, err)
			}
			return pair, secret.Data[corev1.TLSCertKey], nil
		}
		if !apierrors.IsNotFound(err) {
			return tls.Certificate{}, nil, fmt.Errorf("secret %s: %w", at, err)
		}
		certificate, key, err := selfSigned(hosts)
		if err != nil {
			return tls.Certificate{}, nil, err
		}
		secret = &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: ConfigurationName}, Type: corev1.SecretTypeTLS,
			Data: map[string][]byte{corev1.TLSCertKey: certificate, corev1.TLSPrivateKeyKey: key}}
		// Another replica may have been first: its certificate is then read.
		if err := api.Create(ctx, secret); err != nil && !apierrors.IsAlreadyExists(err) {
			return tls.Certificate{}, nil, fmt.Errorf("secret %s: %w", at, err)
		}
	}
}

func selfSigned(hosts []string) (certificate, key []byte, err error) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return nil, nil, err
	}
	template := &x509.Certificate{SerialNumber: serial, Subject: pkix.Name{CommonName: ConfigurationName}, NotBefore: time.Now().Add(-time.Hour),
		NotAfter: time.Now().Add(validFor), IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}
	for _, host := range hosts {
		if address := net.ParseIP(host); address != nil {
			template.IPAddresses = append(template.IPAddresses, address)
		} else {
			template.DNSNames = append(template.DNSNames, host)
		}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		return nil, nil, err
	}
	keyDer, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		return nil, nil, err
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDer}), nil
}

// Trust tells the API server which certificate the webhooks have.
func Trust(ctx context.Context, api client.Client, certificate []byte) error {
	at := client.ObjectKey{Name: ConfigurationName}
	mutating := &admissionregistrationv1.MutatingWebhookConfiguration{}
	if err := api.Get(ctx, at, mutating); err != nil {
		return fmt.Errorf("webhook configuration %s: %w; apply deploy/kubernetes/webhook.yaml, or start with --webhook=false", at.Name, err)
	}
	before := mutating.DeepCopy()
	for i := range mutating.Webhooks {
		mutating.Webhooks[i].ClientConfig.CABundle = certificate
	}
	if err := api.Patch(ctx, mutating, client.MergeFrom(before)); err != nil {
		return err
	}
	validating := &admissionregistrationv1.ValidatingWebhookConfiguration{}
	if err := api.Get(ctx, at, validating); err != nil {
		return fmt.Errorf("validating webhook configuration %s: %w", at.Name, err)
	}
	was := validating.DeepCopy()
	for i := range validating.Webhooks {
		validating.Webhooks[i].ClientConfig.CABundle = certificate
	}
	return api.Patch(ctx, validating, client.MergeFrom(was))
}
